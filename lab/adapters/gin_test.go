package adapters

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/headgate/headgate"
	ginadapter "github.com/headgate/headgate/adapter/gin"
	"github.com/headgate/headgate/httplimit"
)

func serveGin(t *testing.T, middleware gin.HandlerFunc) string {
	gin.SetMode(gin.TestMode)
	router := gin.New()
	router.Use(gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, _ any) { c.AbortWithStatus(http.StatusInternalServerError) }))
	router.Use(func(c *gin.Context) {
		c.Next()
		if failed := late(0); c.Errors != nil && errors.As(c.Errors.Last(), &failed) {
			c.String(int(failed), "late")
		}
	}, middleware)
	router.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
	router.GET("/users/:id", func(c *gin.Context) { c.String(http.StatusOK, c.Param("id")) })
	router.GET("/status/:code", func(c *gin.Context) {
		code, _ := strconv.Atoi(c.Param("code"))
		c.AbortWithStatus(code)
	})
	router.GET("/late/:code", func(c *gin.Context) {
		code, _ := strconv.Atoi(c.Param("code"))
		_ = c.Error(late(code))
	})
	router.GET("/panic", func(*gin.Context) { panic("for the test") })
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	return server.URL
}

func TestGin(t *testing.T) {
	runAdapter(t, func(t *testing.T, policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) string {
		return serveGin(t, ginadapter.New(policy, key, options...))
	})
	t.Run("in flight", func(t *testing.T) {
		one := oneInFlight(t)
		releases(t, one, serveGin(t, ginadapter.By(httplimit.InFlight(one, httplimit.All()))))
	})
	t.Run("by a decider", func(t *testing.T) { runBy(t, serveGin(t, ginadapter.By(new(countingDecider)))) })
}
