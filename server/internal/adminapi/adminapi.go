// Package adminapi defines the API for operators: its calls with their bodies and answers, and its client. The server
// and the page of a Go program implement it, the commands call it, and the page's types are generated from it.
// docs/reference/admin.yaml describes each call.
//
//	adminapi.go  calls, and their handlers
//	request.go   bodies and queries
//	client.go    the client
//	key.go       keys in bodies
//	standing.go  the state of a key under its limits
//	top.go       counts and decisions of keys
//	policy.go    policies, and changes to them
//	server.go    the server: state, settings, history
//	second.go    the decisions of one second
package adminapi

import (
	"net/http"
	"net/url"
	"strings"
)

// Call describes a call: its method and path, the types of its body and its answer, and whether it changes something.
type Call[Body, Answer any] struct {
	Pattern string
	Acts    bool
}

// None is the body of a call without one.
type None struct{}

// Of returns the call for a policy, whose name is in the path.
func (c Call[Body, Answer]) Of(name string) Call[Body, Answer] {
	c.Pattern = strings.Replace(c.Pattern, "{name}", url.PathEscape(name), 1)
	return c
}

// With returns the call with a query.
func (c Call[Body, Answer]) With(query url.Values) Call[Body, Answer] {
	c.Pattern += "?" + query.Encode()
	return c
}

// Endpoint is a call with the function that answers it.
type Endpoint struct {
	Pattern string
	Acts    bool
	Answer  func(w http.ResponseWriter, r *http.Request) (any, error)
}

// By returns the endpoint that serves the call with the function answer. It decodes the body of a POST. With other
// methods, answer gets a zero body.
func (c Call[Body, Answer]) By(answer func(r *http.Request, body *Body) (Answer, error)) Endpoint {
	return Endpoint{c.Pattern, c.Acts, func(w http.ResponseWriter, r *http.Request) (any, error) {
		var body Body
		if r.Method == http.MethodPost {
			if err := decode(w, r, &body); err != nil {
				return nil, err
			}
		}
		return answer(r, &body)
	}}
}
