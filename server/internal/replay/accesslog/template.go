package accesslog

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
)

// part identifies the part of a request that a format string's variable logs.
type part uint8

const (
	partIgnored part = iota
	partTime
	partClient
	partRequest // GET /path?query HTTP/1.1
	partMethod
	partTarget // path and query
	partPath
	partQuery
	partQueryMark // the query with its question mark, or nothing
	partHost
	partStatus
	partSize
	partHeader
	partCookie
)

// variable is one variable of a format string, with the text that follows it.
type variable struct {
	part   part
	name   string // name of a header, in canonical form, or of a cookie
	wanted bool   // the requests need this header or cookie
	agent  bool   // the User-Agent header
	quoted bool   // in quotes, where a backslash escapes the next byte
	until  string
}

// template parses lines according to a format string.
type template struct {
	before    string // the text before the first variable
	variables []variable
	// more permits extra text after the last variable, such as fields added to a standard format.
	more bool
	// stamps parses the times.
	stamps stamper
}

// addVariable appends a variable. It returns an error if the end of the previous variable's value could not be found.
func (t *template) addVariable(v variable) error {
	if n := len(t.variables); n > 0 && t.variables[n-1].until == "" {
		return engine.InvalidInput("format", engine.Quote("two variables without a text between them"), "a text, such as a blank, between variables")
	}
	t.variables = append(t.variables, v)
	return nil
}

// addText appends fixed text from the format string after the last variable.
func (t *template) addText(text string) {
	if n := len(t.variables); n > 0 {
		t.variables[n-1].until += text
	} else {
		t.before += text
	}
}

// finish marks the quoted variables. It returns an error for a format without a time or path.
func (t *template) finish() error {
	text := t.before
	hasTime, hasPath := false, false
	for i := range t.variables {
		v := &t.variables[i]
		v.quoted = strings.HasSuffix(text, `"`) && strings.HasPrefix(v.until, `"`)
		v.agent = v.part == partHeader && v.name == "User-Agent"
		hasTime = hasTime || v.part == partTime
		hasPath = hasPath || v.part == partRequest || v.part == partTarget || v.part == partPath
		text = v.until
	}
	switch {
	case !hasTime:
		return errors.New("the format has no time; accepted: one with $time_local, $time_iso8601 or $msec, or with %t or %{usec}t")
	case !hasPath:
		return errors.New("the format has no request; accepted: one with $request, $request_uri or $uri, or with %r or %U")
	default:
		return nil
	}
}

// fields returns the fields that each line of the format contains.
func (t *template) fields() Fields {
	f := Fields{Headers: map[string]bool{}, Cookies: map[string]bool{}}
	for i := range t.variables {
		switch v := &t.variables[i]; v.part {
		case partClient:
			f.Client = true
		case partRequest:
			f.Method, f.Query = true, true
		case partMethod:
			f.Method = true
		case partTarget, partQuery, partQueryMark:
			f.Query = true
		case partHost:
			f.Host = true
		case partSize:
			f.Size = true
		case partHeader:
			f.Headers[v.name] = true
		case partCookie:
			f.Cookies[v.name] = true
		}
	}
	return f
}

// want marks the variables with the given headers and cookies as wanted. The others are not stored in requests.
func (t *template) want(headers, cookies map[string]bool) {
	for i := range t.variables {
		v := &t.variables[i]
		v.wanted = v.part == partHeader && headers[v.name] || v.part == partCookie && cookies[v.name]
	}
}

// read parses one line into q. It returns an error if the line does not match the format.
func (t *template) read(line string, q *Request) (err error) {
	rest, ok := strings.CutPrefix(line, t.before)
	if !ok {
		return engine.InvalidInput("line", engine.Quote(line), "a line that begins with "+engine.Quote(t.before))
	}
	for i := range t.variables {
		v := &t.variables[i]
		end := v.end(rest)
		if end < 0 {
			return engine.InvalidInput("line", engine.Quote(line), "a line of the format, which has "+engine.Quote(v.until)+" after field "+strconv.Itoa(i+1))
		}
		value := rest[:end]
		rest = rest[end+len(v.until):]
		if v.part == partIgnored {
			continue
		}
		if v.quoted && strings.IndexByte(value, '\\') >= 0 {
			value = unescape(value)
		}
		if err := t.set(v, value, q); err != nil {
			return err
		}
	}
	if rest != "" && !t.more {
		return engine.InvalidInput("line", engine.Quote(rest), "no text after the last field of the format")
	}
	return nil
}

// end returns the index where the value at the start of text ends, or -1.
func (v *variable) end(text string) int {
	if v.until == "" {
		return len(text)
	}
	if !v.quoted {
		return strings.Index(text, v.until)
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			if strings.HasPrefix(text[i:], v.until) {
				return i
			}
		}
	}
	return -1
}

// set stores a variable's value in the request.
func (t *template) set(v *variable, value string, q *Request) (err error) {
	switch v.part {
	case partTime:
		q.Time, err = t.stamps.read(strings.Trim(value, "[]"))
	case partClient:
		err = q.setClient(value)
	case partRequest:
		err = q.setRequestLine(value)
	case partMethod:
		q.Method = value
	case partTarget:
		err = q.setTarget(value)
	case partPath:
		q.Path = value
	case partQuery:
		if value != "-" {
			q.Query = value
		}
	case partQueryMark:
		q.Query = strings.TrimPrefix(value, "?")
	case partHost:
		if value != "-" {
			q.Host = value
		}
	case partStatus:
		err = q.setStatus(value)
	case partSize:
		q.setSize(value)
	case partHeader, partCookie:
		v.header(value, q)
	}
	return err
}

// header adds a header or a cookie to the request. If the value is a dash, the request did not contain it.
func (v *variable) header(value string, q *Request) {
	if value == "-" || value == "" {
		return
	}
	if v.agent {
		q.Agent = value
	}
	switch {
	case !v.wanted:
	case v.part == partCookie:
		q.Headers = append(q.Headers, Header{"Cookie", v.name + "=" + value})
	default:
		q.Headers = append(q.Headers, Header{v.name, value})
	}
}

// canonical returns the canonical form of a header name, as in net/http.
func canonical(name string) string { return http.CanonicalHeaderKey(name) }
