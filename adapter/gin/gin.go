// Package ginadapter limits the requests of a gin server.
//
//	router.Use(ginadapter.New(perIP, httplimit.ByIP()))
//
// The keys, options and responses are the same as in package httplimit. For a route parameter such as :id, use
// [httplimit.ByPathValue]("id").
package ginadapter

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/httplimit/wire"
)

// New returns middleware that charges each request to a policy, like [httplimit.New].
func New(policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) gin.HandlerFunc {
	return handler(httplimit.NewMiddleware(policy, key, options...))
}

// By returns middleware that lets a decider, such as the routes of a policies file, decide each request. See
// [httplimit.By].
func By(decider httplimit.Decider, options ...httplimit.Option) gin.HandlerFunc {
	return handler(httplimit.MiddlewareBy(decider, options...))
}

func handler(m *httplimit.Middleware) gin.HandlerFunc {
	return func(c *gin.Context) {
		for _, p := range c.Params {
			c.Request.SetPathValue(p.Key, p.Value)
		}
		charge, ok := m.Admit(c.Writer, wire.Routed(c.Request, c.FullPath()))
		if !ok {
			c.Abort()
			return
		}
		if m.Settles(&charge) {
			r, returned := c.Request, false
			defer func() { settle(m, c, r, &charge, returned) }()
			c.Next()
			returned = true
		}
	}
}

func settle(m *httplimit.Middleware, c *gin.Context, r *http.Request, charge *httplimit.Admission, returned bool) {
	o := responseOf(c.Writer)
	if c.Writer.Written() {
		m.Settle(r, charge, o)
		return
	}
	if !returned {
		o.Status = http.StatusInternalServerError // the handler panicked
	}
	c.Writer = &later{c.Writer, m.SettleAtEnd(r, charge, o)}
}

func responseOf(w gin.ResponseWriter) httplimit.Response {
	return httplimit.Response{Status: w.Status(), Bytes: max(0, int64(w.Size())), Header: w.Header()}
}

// later observes the response of outer handlers, such as a handler that turns a request's errors into a response.
type later struct {
	gin.ResponseWriter
	note func(httplimit.Response)
}

func (l *later) WriteHeader(status int) {
	l.ResponseWriter.WriteHeader(status)
	l.note(responseOf(l))
}

func (l *later) WriteHeaderNow() {
	l.ResponseWriter.WriteHeaderNow()
	l.note(responseOf(l))
}

func (l *later) Write(p []byte) (int, error) {
	n, err := l.ResponseWriter.Write(p)
	l.note(responseOf(l))
	return n, err
}

func (l *later) WriteString(s string) (int, error) {
	n, err := l.ResponseWriter.WriteString(s)
	l.note(responseOf(l))
	return n, err
}

// Unwrap supports [http.ResponseController].
func (l *later) Unwrap() http.ResponseWriter { return l.ResponseWriter }
