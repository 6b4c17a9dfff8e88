package accesslog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// column maps JSON fields or a CSV column to a part of the request.
type column struct {
	variable

	// names are the names of the field that the log can use, best first: one if --field sets it.
	names []string
	from  string // the name as the first lines spell it, or "" if they do not have it
	rank  int    // the index of that name in names, or -1
	place int    // index in CSV, or -1

	named bool // set with --field
	seen  bool // in JSON: whether any line contained it
}

// wholeTargets are the names of fields that contain the request's target as the client sent it. If it has no query, the
// request had none, even if the server has rewritten it to one.
var wholeTargets = []string{"request.uri", "request_uri", "x-envoy-origin-path", "x-envoy-original-path", "RequestPath", "ClientRequestURI", ":path", "httpRequest.requestUrl"}

// columnPart is a field that --field accepts.
type columnPart struct {
	name string
	part part
	// also lists the names to look for if --field does not set the field. Case is ignored, and a dash is the same as
	// an underscore.
	also []string
}

// columnParts lists the fields that --field accepts, in the order in which they are applied. Separate parts come after
// the request line, so they override it.
var columnParts = []columnPart{
	{"time", partTime, []string{"StartUTC", "EdgeStartTimestamp", "started_at", "ts", "time", "timestamp", "@timestamp", "start_time", "time_iso8601", "time_local", "msec", "datetime", "date"}},
	{"client", partClient, []string{"request.client_ip", "request.remote_ip", "client_ip", "remote_addr", "remote_ip", "downstream_remote_address", "ClientHost", "ClientIP", "httpRequest.remoteIp", "c-ip", "client", "ip"}},
	{"host", partHost, []string{"request.host", "request.headers.host", "authority", ":authority", "http_host", "RequestHost", "ClientRequestHost", "x-host-header", "cs-host", "cs(Host)", "host", "domain"}},
	{"request", partRequest, []string{"request", "request_line"}},
	{"method", partMethod, []string{"request.method", "method", ":method", "request_method", "RequestMethod", "ClientRequestMethod", "httpRequest.requestMethod", "cs-method", "verb"}},
	{"target", partTarget, append(slices.Clip(wholeTargets), "uri", "path", "url", "target")},
	{"path", partPath, []string{"ClientRequestPath", "cs-uri-stem"}},
	{"query", partQuery, []string{"query", "query_string", "args", "cs-uri-query"}},
	{"status", partStatus, []string{"status", "response.status", "response_code", "status_code", "DownstreamStatus", "EdgeResponseStatus", "httpRequest.status", "sc-status", "code"}},
	{"size", partSize, []string{"content_length", "request_size", "RequestContentSize"}},
	{"header.User-Agent", partHeader, []string{"user_agent", "http_user_agent", "agent", "request.headers.User-Agent", "request_User-Agent", "ClientRequestUserAgent", "httpRequest.userAgent", "cs(User-Agent)"}},
	{"header.X-Forwarded-For", partHeader, []string{"x_forwarded_for", "http_x_forwarded_for", "request.headers.X-Forwarded-For", "request_X-Forwarded-For", "cs(X-Forwarded-For)"}},
}

const fieldAccepted = "NAME=FIELD, where NAME is time, client, host, request, method, target, path, query, status, size, header.NAME or cookie.NAME"

func fieldError(text, accepted string) error {
	return fmt.Errorf("--field %s: accepted: %s", engine.Quote(text), accepted)
}

func parseFields(texts []string) (all []column, err error) {
	for _, text := range texts {
		name, from, ok := strings.Cut(text, "=")
		if !ok || from == "" {
			return nil, fieldError(text, fieldAccepted)
		}
		c := column{from: from, names: []string{from}, place: -1, named: true}
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

	all    []column
	values []value // of the line, one for each column
	// anyHeader is true if the lines contain all headers of their requests.
	anyHeader bool
	// others are the needed headers that have no column.
	others []string
}

// value is the text of a column in one line. rank is the index of its name in the column's names, or -1 if the line
// does not have the field.
type value struct {
	text string
	rank int
}

// choose adds a column for each field that --field does not name, with all names that logs use for it. The function
// find returns a name as the first lines spell it, or "" if they do not have it.
func (c *columns) choose(named []column, find func(name string) string) error {
	c.all = slices.Clone(named)
	for _, known := range columnParts {
		v := variable{part: known.part}
		if header, ok := strings.CutPrefix(known.name, "header."); ok {
			v.name = header
		}
		if c.index(v.part, v.name) >= 0 {
			continue
		}
		added := column{variable: v, names: known.also, rank: -1, place: -1}
		for i := 0; i < len(known.also) && added.from == ""; i++ {
			if added.from = find(known.also[i]); added.from != "" {
				added.rank = i
			}
		}
		c.all = append(c.all, added)
	}
	slices.SortStableFunc(c.all, func(a, b column) int { return int(a.part) - int(b.part) })
	c.values = make([]value, len(c.all))
	for i := range c.all {
		v := &c.all[i].variable
		v.agent = v.part == partHeader && v.name == "User-Agent"
	}
	switch {
	case !c.inFirst(partTime):
		return errors.New("no field has the time; accepted: the name of the one that has, such as --field time=ts")
	case !c.inFirst(partTarget) && !c.inFirst(partRequest) && !c.inFirst(partPath):
		return errors.New("no field has the path; accepted: the name of the one that has, such as --field target=uri")
	default:
		return nil
	}
}

// inFirst reports whether the first lines have a field for a part.
func (c *columns) inFirst(p part) bool { return c.all[c.index(p, "")].from != "" }

// reset forgets the values of the last line.
func (c *columns) reset() {
	for i := range c.values {
		c.values[i] = value{rank: -1}
	}
}

// found keeps a value of the line, unless the line has the field under a better name.
func (c *columns) found(column, rank int, text string) {
	if v := &c.values[column]; v.rank < 0 || rank < v.rank {
		*v = value{text, rank}
	}
}

func (c *columns) store(q *Request) error {
	for i := range c.all {
		at := &c.all[i]
		if c.values[i].rank < 0 || !at.needed() || c.spare(at) {
			continue
		}
		if err := c.set(&at.variable, c.values[i].text, q); err != nil {
			return err
		}
	}
	if !c.has(partTime) {
		return engine.InvalidInput("time", engine.Quote(""), stampAccepted)
	}
	return q.check()
}

func (c *columns) has(p part) bool { return c.values[c.index(p, "")].rank >= 0 }

// spare reports whether the column's value is not used, because the line has the same part in a field that says more:
// the server's path and query can be rewritten, while the request line and the target are the client's.
func (c *columns) spare(at *column) bool {
	if at.named {
		return false
	}
	target := c.index(partTarget, "")
	switch at.part {
	case partRequest:
		return c.all[target].named
	case partTarget:
		return c.has(partRequest) || c.all[c.index(partPath, "")].named
	case partPath:
		return c.has(partRequest) || c.has(partTarget)
	case partQuery:
		whole := c.has(partTarget) && !c.all[target].named && c.values[target].rank < len(wholeTargets)
		return c.has(partRequest) || whole
	default:
		return false
	}
}

func (c *columns) index(p part, name string) int {
	return slices.IndexFunc(c.all, func(other column) bool { return other.part == p && other.name == name })
}

// columnFields returns the fields of the columns for which the function counts returns true.
func (c *columns) columnFields(counts func(at *column) bool) Fields {
	t := template{}
	for i := range c.all {
		if counts(&c.all[i]) {
			t.variables = append(t.variables, c.all[i].variable)
		}
	}
	f := t.fields()
	f.AnyHeader = c.anyHeader
	return f
}

func (c *columns) want(headers, cookies map[string]bool) {
	c.others = nil
	for i := range c.all {
		v := &c.all[i].variable
		v.wanted = v.part == partHeader && headers[v.name] || v.part == partCookie && cookies[v.name] || v.part == partClient && headers[forwardedFor]
	}
	for _, name := range names(headers) {
		if c.index(partHeader, name) < 0 && name != "Host" {
			c.others = append(c.others, name)
		}
	}
}

// needed reports whether the replay needs the column's value. A header or cookie is needed only if it was requested.
func (c *column) needed() bool {
	return c.wanted || c.agent || c.part != partHeader && c.part != partCookie
}

// String lists the columns that the first lines have, in the syntax of --field.
func (c *columns) String() string {
	for i := range c.all {
		c.values[i].rank = c.all[i].rank
	}
	var texts []string
	for i := range c.all {
		at := &c.all[i]
		if at.from == "" || c.spare(at) {
			continue
		}
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
