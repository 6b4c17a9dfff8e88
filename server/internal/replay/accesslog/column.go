package accesslog

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// column maps the fields that logs use for a part of the request to this part.
type column struct {
	variable

	// names are the names of the field that the log can use, best first. field is the name for people.
	names  []string
	field  string
	from   string // the name as the first lines spell it, or "" if they do not have it
	header bool   // a header without a name in columnParts
	seen   bool   // whether any line contained it

	// text is the value in the current line. rank is the index of its name in names, or -1 if the line does not have
	// the field.
	text string
	rank int
}

// found keeps a value of the line, unless the line has the field under a better name.
func (c *column) found(rank int, v gjson.Result) {
	c.seen = true
	if v.Type != gjson.Null && (c.rank < 0 || rank < c.rank) {
		c.text, c.rank = scalar(v), rank
	}
}

// needed reports whether the replay needs the column's value. A header or cookie is needed only if it was requested.
func (c *column) needed() bool {
	return c.wanted || c.agent || c.part != partHeader && c.part != partCookie
}

// spelled reports whether a name in a line, which may differ in case and dashes from the names looked for, is the
// column's: in the name of one of allHeaders, which is names[0], a dash is no underscore.
func (c *column) spelled(name string) bool {
	return !c.header || len(name) != len(c.names[0]) || strings.EqualFold(name, c.names[0])
}

// wholeTargets are the names of fields that contain the request's target as the client sent it. If it has no query, the
// request had none, even if the server has rewritten it to one.
var wholeTargets = []string{"request.uri", "request_uri", "x-envoy-origin-path", "x-envoy-original-path", "RequestPath", "ClientRequestURI", ":path", "httpRequest.requestUrl"}

// columnPart is a part of a request, and the names that logs use for it. Case is ignored, and a dash is the same as an
// underscore.
type columnPart struct {
	name string
	part part
	also []string
}

// columnParts lists the fields that are read, in the order in which they are applied. Separate parts come after the
// request line, so they override it.
var columnParts = []columnPart{
	{"time", partTime, []string{"StartUTC", "EdgeStartTimestamp", "started_at", "ts", "time", "timestamp", "@timestamp", "start_time", "time_iso8601", "time_local", "msec", "datetime", "date"}},
	{"client", partClient, []string{"request.client_ip", "request.remote_ip", "client_ip", "remote_addr", "remote_ip", "downstream_remote_address", "ClientHost", "ClientIP", "httpRequest.remoteIp", "client", "ip"}},
	{"host", partHost, []string{"request.host", "request.headers.host", "authority", ":authority", "http_host", "RequestHost", "ClientRequestHost", "host", "domain"}},
	{"request", partRequest, []string{"request", "request_line"}},
	{"method", partMethod, []string{"request.method", "method", ":method", "request_method", "RequestMethod", "ClientRequestMethod", "httpRequest.requestMethod", "verb"}},
	{"target", partTarget, append(slices.Clip(wholeTargets), "uri", "path", "url", "target")},
	{"path", partPath, []string{"ClientRequestPath"}},
	{"query", partQuery, []string{"query", "query_string", "args"}},
	{"status", partStatus, []string{"status", "response.status", "response_code", "status_code", "DownstreamStatus", "EdgeResponseStatus", "httpRequest.status", "code"}},
	{"size", partSize, []string{"content_length", "request_size", "RequestContentSize"}},
	{"header.User-Agent", partHeader, []string{"user_agent", "http_user_agent", "agent", "request.headers.User-Agent", "request_User-Agent", "ClientRequestUserAgent", "httpRequest.userAgent"}},
	{"header.X-Forwarded-For", partHeader, []string{"x_forwarded_for", "http_x_forwarded_for", "request.headers.X-Forwarded-For", "request_X-Forwarded-For"}},
}
