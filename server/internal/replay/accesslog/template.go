package accesslog

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
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
	// hashes is true if quoted values have the escapes of HAProxy, where a backslash is itself.
	hashes bool
	setter
}

// setter stores the values of a line in a request.
type setter struct {
	stamps stamper
	// forwarded is true if a client was a list of addresses: X-Forwarded-For is logged in its place.
	forwarded bool
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
	t.forward()
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

// forward makes X-Forwarded-For the client if the format has no other.
func (t *template) forward() {
	of := func(p part, name string) int {
		return slices.IndexFunc(t.variables, func(v variable) bool { return v.part == p && v.name == name })
	}
	if i := of(partHeader, forwardedFor); i >= 0 && of(partClient, "") < 0 {
		t.variables[i], t.forwarded = variable{part: partClient, until: t.variables[i].until}, true
	}
}

// forwardedFor is the header in which proxies list the addresses of the client and of the proxies before them.
const forwardedFor = "X-Forwarded-For"

// kinds are the fields that a part is, or contains.
var kinds = map[part][]Kind{
	partClient: {Client}, partRequest: {Method, Query}, partMethod: {Method}, partHost: {Host}, partSize: {Size},
	partTarget: {Query}, partQuery: {Query}, partQueryMark: {Query}, partHeader: {Head}, partCookie: {Cookie},
}

// fields returns the fields that each line of the format contains.
func (t *template) fields(bool) Fields {
	f := Fields{{Head, forwardedFor}: t.forwarded}
	for i := range t.variables {
		f.add(&t.variables[i])
	}
	return f
}

func (f Fields) add(v *variable) {
	for _, kind := range kinds[v.part] {
		f[Field{kind, v.name}] = true
	}
}

// want marks the variables with the given headers and cookies as wanted. The others are not stored in requests.
func (t *template) want(headers, cookies map[string]bool) {
	for i := range t.variables {
		t.variables[i].want(headers, cookies)
	}
}

func (v *variable) want(headers, cookies map[string]bool) {
	v.wanted = v.part == partHeader && headers[v.name] || v.part == partCookie && cookies[v.name] || v.part == partClient && headers[forwardedFor]
}

// read parses one line into q. It returns an error if the line does not match the format.
func (t *template) read(line string, q *Request) (err error) {
	rest, ok := strings.CutPrefix(line, t.before)
	if !ok {
		return engine.InvalidInput("line", engine.Quote(line), "a line that begins with "+engine.Quote(t.before))
	}
	for i := range t.variables {
		v := &t.variables[i]
		end := v.end(rest, t.hashes)
		if end < 0 {
			return engine.InvalidInput("line", engine.Quote(line), "a line of the format, which has "+engine.Quote(v.until)+" after field "+strconv.Itoa(i+1))
		}
		value := rest[:end]
		rest = rest[end+len(v.until):]
		if v.part == partIgnored {
			continue
		}
		if v.quoted {
			value = t.unquote(value)
		}
		if err := t.set(v, value, q); err != nil {
			return err
		}
	}
	if rest != "" && !t.more {
		return engine.InvalidInput("line", engine.Quote(rest), "no text after the last field of the format")
	}
	if t.more && q.Name != "" && addressFollows(line) {
		return engine.InvalidInput("client", engine.Quote(q.Name), "an address; if another field comes before it, the whole format in --format")
	}
	return q.check()
}

// addressFollows reports whether a line has an address after its first field and before its time. If the client is no
// address, another field comes before it, and all requests would have a few keys.
func addressFollows(line string) bool {
	before, _, timed := strings.Cut(line, " [")
	fields := strings.Fields(before)
	return timed && len(fields) > 1 && slices.ContainsFunc(fields[1:], func(field string) bool {
		_, err := netip.ParseAddr(strings.Trim(field, `",`))
		return err == nil
	})
}

// end returns the index where the value at the start of text ends, or -1. If hashes is true, a backslash is itself.
func (v *variable) end(text string, hashes bool) int {
	switch {
	case v.until == "":
		return len(text)
	case v.part == partClient && !v.quoted:
		return v.endOfList(text)
	case !v.quoted || hashes:
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

// endOfList is like end for a client, which can be a list of addresses. A blank after a comma does not end it.
func (v *variable) endOfList(text string) int {
	from := 0
	for {
		at := strings.Index(text[from:], v.until)
		if at < 0 {
			return -1
		}
		if at += from; at == 0 || text[at-1] != ',' {
			return at
		}
		from = at + 1
	}
}

// unquote decodes a value in quotes.
func (t *template) unquote(value string) string {
	if t.hashes {
		return unhash(value)
	}
	return unescape(value)
}

// set stores a variable's value in the request.
func (s *setter) set(v *variable, value string, q *Request) (err error) {
	switch v.part {
	case partTime:
		q.Time, err = s.stamps.read(strings.Trim(value, "[]"))
	case partClient:
		s.setClient(v, value, q)
	case partRequest:
		err = setRequest(value, q)
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

// setClient sets the client. In a list of addresses, which is X-Forwarded-For, the last one is the peer of the server
// that wrote the list, and the others are the header that this peer sent.
func (s *setter) setClient(v *variable, value string, q *Request) {
	if last := strings.LastIndexByte(value, ','); last >= 0 {
		s.forwarded = true
		if v.wanted {
			q.Headers = append(q.Headers, Header{forwardedFor, value[:last]})
		}
		value = strings.TrimSpace(value[last+1:])
	}
	q.setClient(value)
}

// setRequest parses a request line.
func setRequest(value string, q *Request) (err error) {
	method, target, err := requestLine(value)
	if err != nil {
		return err
	}
	q.Method = method
	return q.setTarget(target)
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
