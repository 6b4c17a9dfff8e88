package accesslog

import (
	"strings"

	"github.com/headgate/headgate/engine"
)

// apacheParts maps the Apache directives without an argument to the parts that they contain. Other directives are
// skipped.
var apacheParts = map[byte]part{
	'h': partClient, 'a': partClient, 't': partTime, 'r': partRequest, 'm': partMethod,
	'U': partPath, 'q': partQueryMark, 'v': partHost, 'V': partHost, 's': partStatus,
}

// parseApache parses an Apache LogFormat: text with %directives. Quotes are not escaped here, although Apache's
// configuration escapes them as \".
func parseApache(format string) (*template, error) {
	t := &template{}
	for format != "" {
		text, rest, found := strings.Cut(format, "%")
		t.addText(text)
		if !found {
			break
		}
		if after, ok := strings.CutPrefix(rest, "%"); ok {
			t.addText("%")
			format = after
			continue
		}
		v, after, err := apacheDirective(rest)
		if err != nil {
			return nil, err
		}
		// A path is often followed directly by its query, which begins with ?.
		if n := len(t.variables); v.part == partQueryMark && n > 0 && t.variables[n-1].part == partPath && t.variables[n-1].until == "" {
			t.variables[n-1].part = partTarget
		} else if err := t.addVariable(v); err != nil {
			return nil, err
		}
		format = after
	}
	return t, t.finish()
}

// apacheDirective parses the text after a percent sign: conditions, < or >, an argument in braces, and a letter.
func apacheDirective(text string) (v variable, rest string, err error) {
	wrong := engine.InvalidInput("format", engine.Quote("%"+text), "a directive such as %h, %>s or %{User-Agent}i")
	rest = strings.TrimLeft(text, "!<>,0123456789")
	argument := ""
	if braced, ok := strings.CutPrefix(rest, "{"); ok {
		if argument, rest, ok = strings.Cut(braced, "}"); !ok {
			return v, "", wrong
		}
	}
	if rest == "" {
		return v, "", wrong
	}
	letter, rest := rest[0], rest[1:]
	if letter == '^' && len(rest) >= 2 { // %^FB, %{name}^ti
		return v, rest[2:], nil
	}
	switch {
	case letter == 'i' && argument != "":
		v = variable{part: partHeader, name: canonical(argument)}
		if v.name == "Host" {
			v = variable{part: partHost}
		}
		if v.name == "Content-Length" {
			v = variable{part: partSize}
		}
	case letter == 'C' && argument != "":
		v = variable{part: partCookie, name: argument}
	case letter == 't' && argument != "":
		if unit := strings.TrimPrefix(argument, "begin:"); unit != "sec" && unit != "msec" && unit != "usec" {
			return v, "", engine.InvalidInput("format", engine.Quote("%{"+argument+"}t"), "%t, %{sec}t, %{msec}t or %{usec}t")
		}
		v = variable{part: partTime}
	default:
		v = variable{part: apacheParts[letter]}
	}
	return v, rest, nil
}
