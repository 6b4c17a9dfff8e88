package accesslog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// column maps a JSON field or a CSV column to a part of the request.
type column struct {
	variable

	from  string // its name in the log
	path  string // in JSON, in the syntax of package gjson
	flat  string // the same name as one field with dots in its name
	place int    // index in CSV

	named bool // set with --field
	seen  bool // in JSON: whether any line contained it
}

// columnParts lists the fields that --field accepts, in the order in which they are applied. Separate parts come after
// the request line, so they override it.
var columnParts = []struct {
	name string
	part part
	// also lists the names to look for if --field does not set the field.
	also []string
}{
	{"time", partTime, []string{"StartUTC", "EdgeStartTimestamp", "ts", "time", "timestamp", "@timestamp", "start_time", "time_iso8601", "time_local", "msec", "datetime", "date"}},
	{"client", partClient, []string{"request.client_ip", "request.remote_ip", "client_ip", "remote_addr", "remote_ip", "downstream_remote_address", "clientip", "ClientHost", "ClientIP", "client", "ip"}},
	{"host", partHost, []string{"request.host", "authority", ":authority", "http_host", "RequestHost", "ClientRequestHost", "host", "domain"}},
	{"request", partRequest, []string{"request", "request_line"}},
	{"method", partMethod, []string{"request.method", "method", ":method", "request_method", "RequestMethod", "ClientRequestMethod", "verb"}},
	{"target", partTarget, []string{"request.uri", "uri", "request_uri", "RequestPath", "ClientRequestURI", "path", ":path", "url", "target"}},
	{"path", partPath, []string{"ClientRequestPath"}},
	{"query", partQuery, []string{"query", "query_string", "args"}},
	{"status", partStatus, []string{"status", "response_code", "status_code", "DownstreamStatus", "EdgeResponseStatus", "code"}},
	{"size", partSize, []string{"content_length", "request_size", "RequestContentSize"}},
	{"header.User-Agent", partHeader, []string{"user_agent", "http_user_agent", "agent", "request.headers.User-Agent.0", "request_User-Agent", "ClientRequestUserAgent"}},
	{"header.X-Forwarded-For", partHeader, []string{"x_forwarded_for", "http_x_forwarded_for", "request_X-Forwarded-For"}},
}

const fieldAccepted = "NAME=FIELD, where NAME is time, client, host, request, method, target, path, query, status, size, header.NAME or cookie.NAME"

func fieldError(text, accepted string) error {
	return fmt.Errorf("--field %s: accepted: %s", engine.Quote(text), accepted)
}

// parseFields parses the values of --field.
func parseFields(texts []string) (all []column, err error) {
	for _, text := range texts {
		name, from, ok := strings.Cut(text, "=")
		if !ok || from == "" {
			return nil, fieldError(text, fieldAccepted)
		}
		c := column{from: from, place: -1, named: true}
		header, isHeader := strings.CutPrefix(name, "header.")
		cookie, isCookie := strings.CutPrefix(name, "cookie.")
		switch {
		case isHeader && route.IsToken(header):
			c.part, c.name = partHeader, canonical(header)
		case isCookie && route.IsToken(cookie):
			c.part, c.name = partCookie, cookie
		default:
			for _, known := range columnParts {
				if known.name == name {
					c.part = known.part
				}
			}
			if c.part == partIgnored {
				return nil, fieldError(text, fieldAccepted)
			}
		}
		if slices.ContainsFunc(all, func(other column) bool { return other.part == c.part && other.name == c.name }) {
			return nil, fieldError(text, name+" once")
		}
		all = append(all, c)
	}
	return all, nil
}

// columns holds the columns that a replay reads from each line, and stores their values in requests.
type columns struct {
	template // only for its setters

	all []column
	// any looks up a header that has no column. It can be nil.
	any func(line, name string) string
	// others are the headers that the function any looks up.
	others []string
}

// choose sets the columns. A field set by --field uses the name given there. For every other field, choose takes the
// first known name that occurs in the log, as reported by the function has.
func (c *columns) choose(named []column, has func(name string) bool) error {
	c.all = slices.Clone(named)
	for _, known := range columnParts {
		v := variable{part: known.part}
		if header, ok := strings.CutPrefix(known.name, "header."); ok {
			v.name = header
		}
		if c.index(v.part, v.name) >= 0 || known.part == partRequest && c.index(partTarget, "") >= 0 ||
			known.part == partPath && c.index(partTarget, "")+c.index(partRequest, "") > -2 ||
			known.part == partTarget && (c.index(partRequest, "") >= 0 || c.index(partPath, "") >= 0) {
			continue
		}
		for _, name := range known.also {
			if has(name) {
				c.all = append(c.all, column{variable: v, from: name, place: -1})
				break
			}
		}
	}
	slices.SortStableFunc(c.all, func(a, b column) int { return int(a.part) - int(b.part) })
	for i := range c.all {
		v := &c.all[i].variable
		v.agent = v.part == partHeader && v.name == "User-Agent"
	}
	switch {
	case c.index(partTime, "") < 0:
		return errors.New("no field has the time; accepted: the name of the one that has, such as --field time=ts")
	case c.index(partTarget, "") < 0 && c.index(partRequest, "") < 0 && c.index(partPath, "") < 0:
		return errors.New("no field has the path; accepted: the name of the one that has, such as --field target=uri")
	default:
		return nil
	}
}

// index returns the index of the column for a part, or -1.
func (c *columns) index(p part, name string) int {
	return slices.IndexFunc(c.all, func(other column) bool { return other.part == p && other.name == name })
}

func (c *columns) fields() Fields {
	t := template{}
	for i := range c.all {
		t.variables = append(t.variables, c.all[i].variable)
	}
	f := t.fields()
	f.AnyHeader = c.any != nil
	return f
}

func (c *columns) want(headers, cookies map[string]bool) {
	c.others = nil
	for i := range c.all {
		v := &c.all[i].variable
		v.wanted = v.part == partHeader && headers[v.name] || v.part == partCookie && cookies[v.name]
	}
	for _, name := range names(headers) {
		if c.any != nil && c.index(partHeader, name) < 0 && name != "Host" {
			c.others = append(c.others, name)
		}
	}
}

// needed reports whether the replay needs the column's value. A header or cookie is needed only if it was requested.
func (c *column) needed() bool {
	return c.wanted || c.agent || c.part != partHeader && c.part != partCookie
}

// complete returns an error for a request without a time or a path.
func complete(q *Request, hasTime bool) error {
	if !hasTime {
		return engine.InvalidInput("time", engine.Quote(""), stampAccepted)
	}
	return q.check()
}

// String lists the columns in the syntax of --field.
func (c *columns) String() string {
	var texts []string
	for i := range c.all {
		at := &c.all[i]
		name := at.name
		for _, known := range columnParts {
			if known.part == at.part && at.part != partHeader && at.part != partCookie {
				name = known.name
			}
		}
		switch at.part {
		case partHeader:
			name = "header." + name
		case partCookie:
			name = "cookie." + name
		}
		texts = append(texts, fmt.Sprintf("%s=%s", name, at.from))
	}
	return strings.Join(texts, " ")
}
