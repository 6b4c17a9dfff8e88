package accesslog

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// Request is one line of a log. Its strings share the memory of the line, so code that keeps a string must clone it.
type Request struct {
	// Time is in µs since 1970.
	Time int64
	// Client is the peer recorded in the log, or the zero Addr if the log does not contain it. If the log has another
	// text in its place, such as a host name, Name is this text.
	Client netip.Addr
	Name   string
	Method string
	// Host is "" if the log does not contain it. Path is the path as sent, and Query is the text after the question
	// mark.
	Host, Path, Query string
	// Agent is the header User-Agent.
	Agent string
	// Status is the response's status, or 0 if the log does not contain it.
	Status int
	// Size is the length of the request's body in bytes, or -1 if the log does not contain it.
	Size int64
	// Headers are the line's headers that were requested with [Log.Want].
	Headers []Header
	// File is the index of the request's file, and Line the number of its line in that file, starting at 1.
	File int
	Line int64
}

// Header is a header of a request, with its canonical name.
type Header struct{ Name, Value string }

// Route sets r to the properties of the request that a route can match. It reuses r's header map.
func (q *Request) Route(r *route.Request) {
	header := r.Header
	if len(q.Headers) == 0 {
		header = nil
	} else {
		if header == nil {
			header = http.Header{}
		}
		clear(header)
		for _, h := range q.Headers {
			header[h.Name] = append(header[h.Name], h.Value)
		}
	}
	*r = route.Request{Method: q.Method, Host: q.Host, Path: q.Path, Query: q.Query, Header: header, Peer: q.Client, PeerName: q.Name, Size: q.Size}
}

// setTarget sets the path and query, and the host if the target is an absolute URL.
func (q *Request) setTarget(target string) error {
	if target == "" {
		return errors.New("the target of the request is empty")
	}
	if target[0] == '/' { // nearly always true
		if strings.IndexByte(target, '?') < 0 {
			q.Path, q.Query = target, ""
			return nil
		}
	}
	r := route.Request{Host: q.Host}
	r.SetTarget(target)
	q.Host, q.Path, q.Query = r.Host, r.Path, r.Query
	if q.Path == "" {
		q.Path = "/"
	}
	return nil
}

// requestLine splits a request line: method, target and protocol. In HTTP/0.9 there is no protocol.
func requestLine(text string) (method, target string, err error) {
	method, target, ok := strings.Cut(text, " ")
	if !ok || !route.IsToken(method) {
		return "", "", engine.InvalidInput("request", engine.Quote(text), "a request line such as GET /path HTTP/1.1")
	}
	if at := strings.LastIndexByte(target, ' '); at >= 0 && strings.HasPrefix(target[at+1:], "HTTP/") {
		target = target[:at]
	}
	return method, target, nil
}

// check returns an error unless the path is one that a server decides: it begins with a slash, or it is the asterisk of
// OPTIONS or the authority of CONNECT. Servers log other texts for connections without a request, such as "- - -".
func (q *Request) check() error {
	if strings.HasPrefix(q.Path, "/") || q.Path == "*" || q.Path != "" && q.Method == http.MethodConnect {
		return nil
	}
	return engine.InvalidInput("path", engine.Quote(q.Path), "the path of a request, which begins with /")
}

// setClient parses an address with or without a port. If the text is empty or a dash, the client stays unset.
func (q *Request) setClient(text string) {
	if text == "-" || text == "" {
		return
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		pair, noPair := netip.ParseAddrPort(text)
		if noPair != nil {
			q.Name = text
			return
		}
		address = pair.Addr()
	}
	q.Client = address.Unmap().WithZone("")
}

// setStatus parses a status. If the text is empty or a dash, the status stays unset.
func (q *Request) setStatus(text string) error {
	if text == "-" || text == "" {
		return nil
	}
	n, ok := digits(text)
	if !ok || n > 999 {
		return engine.InvalidInput("status", engine.Quote(text), "a status such as 200")
	}
	q.Status = int(n)
	return nil
}

// setSize parses a length in bytes. If the text is not a number, the size stays unknown.
func (q *Request) setSize(text string) {
	if n, ok := digits(text); ok {
		q.Size = n
	}
}

// digits parses a number of 1 to 18 decimal digits.
func digits(text string) (n int64, ok bool) {
	if text == "" || len(text) > 18 {
		return 0, false
	}
	for i := range len(text) {
		c := text[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	return n, true
}
