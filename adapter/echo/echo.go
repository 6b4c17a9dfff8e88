// Package echoadapter limits the requests of an echo server, version 5.
//
//	server.Use(echoadapter.New(perIP, httplimit.ByIP()))
//
// The keys, options and responses are the same as in package httplimit. For a route parameter such as :id, use
// [httplimit.ByPathValue]("id").
package echoadapter

import (
	"net/http"

	"github.com/labstack/echo/v5"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/httplimit/wire"
)

// New returns middleware that charges each request to a policy, like [httplimit.New].
func New(policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) echo.MiddlewareFunc {
	return middleware(httplimit.NewMiddleware(policy, key, options...))
}

// By returns middleware that lets a decider, such as the routes of a policies file, decide each request. See
// [httplimit.By].
func By(decider httplimit.Decider, options ...httplimit.Option) echo.MiddlewareFunc {
	return middleware(httplimit.MiddlewareBy(decider, options...))
}

func middleware(m *httplimit.Middleware) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) (err error) {
			r := c.Request()
			for _, p := range c.PathValues() {
				r.SetPathValue(p.Name, p.Value)
			}
			charge, ok := m.Admit(c.Response(), wire.Routed(r, c.Path()))
			if !ok {
				return nil // Admit has responded
			}
			if !m.Settles(&charge) {
				return next(c)
			}
			returned := false
			defer func() { settle(m, c, r, &charge, returned, err) }()
			err = next(c)
			returned = true
			return err
		}
	}
}

func settle(m *httplimit.Middleware, c *echo.Context, r *http.Request, charge *httplimit.Admission, returned bool, err error) {
	response, status := echo.ResolveResponseStatus(c.Response(), err)
	if response == nil { // the response bypassed echo, so only the handler's error is known
		m.Settle(r, charge, httplimit.Response{Status: status})
		return
	}
	if response.Committed {
		m.Settle(r, charge, httplimit.Response{Status: status, Bytes: response.Size, Header: response.Header()})
		return
	}
	if !returned {
		status = http.StatusInternalServerError // the handler panicked
	}
	// The error handler or an outer handler writes the response.
	note := m.SettleAtEnd(r, charge, httplimit.Response{Status: status})
	noteResponse := func() {
		note(httplimit.Response{Status: response.Status, Bytes: response.Size, Header: response.Header()})
	}
	response.Before(noteResponse)
	response.After(noteResponse)
}
