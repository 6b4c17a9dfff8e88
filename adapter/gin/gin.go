// Package ginadapter limits the requests of a gin server.
//
//	router.Use(ginadapter.New(perIP, httplimit.ByIP()))
//
// The keys, options and answers are those of package httplimit. A parameter of the route,
// such as :id, is [httplimit.ByPathValue]("id").
package ginadapter

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// New returns middleware that charges each request on a policy, as [httplimit.New] does.
func New(policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) gin.HandlerFunc {
	return handler(httplimit.NewMiddleware(policy, key, options...))
}

// By returns middleware that lets a decider decide, such as the routes of a policies file,
// as [httplimit.By] does.
func By(decider httplimit.Decider, options ...httplimit.Option) gin.HandlerFunc {
	return handler(httplimit.MiddlewareBy(decider, options...))
}

func handler(m *httplimit.Middleware) gin.HandlerFunc {
	return func(c *gin.Context) {
		for _, p := range c.Params {
			c.Request.SetPathValue(p.Key, p.Value)
		}
		charge, ok := m.Admit(c.Writer, c.Request)
		if !ok {
			c.Abort()
			return
		}
		status := http.StatusInternalServerError // where the handler panics
		defer func() {
			m.Settle(c.Request, &charge, httplimit.Response{Status: status, Bytes: max(0, int64(c.Writer.Size()))})
		}()
		c.Next()
		status = c.Writer.Status()
	}
}
