// Package echoadapter limits the requests of an echo server, version 5.
//
//	server.Use(echoadapter.New(perIP, httplimit.ByIP()))
//
// The keys, options and answers are those of package httplimit. A parameter of the route,
// such as :id, is [httplimit.ByPathValue]("id").
package echoadapter

import (
	"net/http"

	"github.com/labstack/echo/v5"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// New returns middleware that charges each request on a policy, as [httplimit.New] does.
func New(policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) echo.MiddlewareFunc {
	return middleware(httplimit.NewMiddleware(policy, key, options...))
}

// By returns middleware that lets a decider decide, such as the routes of a policies file,
// as [httplimit.By] does.
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
			charge, ok := m.Admit(c.Response(), r)
			if !ok {
				return nil // Admit has answered
			}
			answered := httplimit.Response{Status: http.StatusInternalServerError} // where the handler panics
			defer func() { m.Settle(r, &charge, answered) }()
			err = next(c)
			response, status := echo.ResolveResponseStatus(c.Response(), err)
			if answered.Status = status; response != nil {
				answered.Bytes = response.Size
			}
			return err
		}
	}
}
