package accesslog

import (
	"strings"

	"github.com/headgate/headgate/engine"
)

// nginxParts maps nginx variables to the parts that they contain. Other variables are skipped.
var nginxParts = map[string]part{
	"remote_addr": partClient, "time_local": partTime, "time_iso8601": partTime, "msec": partTime,
	"request": partRequest, "request_method": partMethod, "request_uri": partTarget,
	"uri": partPath, "document_uri": partPath, "args": partQuery, "query_string": partQuery,
	"host": partHost, "http_host": partHost, "server_name": partHost,
	"status": partStatus, "content_length": partSize,
}

// parseNginx parses an nginx log_format: text with variables, written as $variable or ${variable}.
func parseNginx(logFormat string) (*template, error) {
	t := &template{}
	for logFormat != "" {
		text, rest, found := strings.Cut(logFormat, "$")
		t.addText(text)
		if !found {
			break
		}
		var name string
		if braced, ok := strings.CutPrefix(rest, "{"); ok {
			if name, rest, ok = strings.Cut(braced, "}"); !ok {
				return nil, engine.InvalidInput("format", engine.Quote("${"+braced), "} at the end of the variable")
			}
		} else {
			end := 0
			for end < len(rest) && isNameByte(rest[end]) {
				end++
			}
			name, rest = rest[:end], rest[end:]
		}
		if name == "" {
			return nil, engine.InvalidInput("format", engine.Quote("$"+rest), "the name of a variable after each $")
		}
		if err := t.addVariable(nginxVariable(name)); err != nil {
			return nil, err
		}
		logFormat = rest
	}
	return t, t.finish()
}

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func nginxVariable(name string) variable {
	if p, ok := nginxParts[name]; ok {
		return variable{part: p}
	}
	if header, ok := strings.CutPrefix(name, "http_"); ok && header != "" {
		return variable{part: partHeader, name: canonical(strings.ReplaceAll(header, "_", "-"))}
	}
	if cookie, ok := strings.CutPrefix(name, "cookie_"); ok && cookie != "" {
		return variable{part: partCookie, name: cookie}
	}
	return variable{}
}
