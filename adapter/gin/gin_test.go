package ginadapter_test

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
	"github.com/headgate/headgate/internal/adaptertest"
)

func serve(t *testing.T, middleware gin.HandlerFunc) string {
	gin.SetMode(gin.TestMode)
	router := gin.New()
	router.Use(gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, _ any) { c.AbortWithStatus(http.StatusInternalServerError) }))
	router.Use(func(c *gin.Context) {
		c.Next()
		if late := adaptertest.Late(0); c.Errors != nil && errors.As(c.Errors.Last(), &late) {
			c.String(int(late), "late")
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
		_ = c.Error(adaptertest.Late(code))
	})
	router.GET("/panic", func(*gin.Context) { panic("for the test") })
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	return server.URL
}

func TestAdapter(t *testing.T) {
	adaptertest.Run(t, func(t *testing.T, policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) string {
		return serve(t, ginadapter.New(policy, key, options...))
	})
	t.Run("by a decider", func(t *testing.T) { adaptertest.RunBy(t, serve(t, ginadapter.By(new(adaptertest.Decider)))) })
}
