package adapters

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"

	"github.com/headgate/headgate"
	echoadapter "github.com/headgate/headgate/adapter/echo"
	"github.com/headgate/headgate/httplimit"
)

func serveEcho(t *testing.T, limit echo.MiddlewareFunc) string {
	e := echo.New()
	e.Logger = slog.New(slog.DiscardHandler)
	e.Use(middleware.Recover(), limit)
	e.GET("/hello", func(c *echo.Context) error { return c.String(http.StatusOK, "hello") })
	e.GET("/users/:id", func(c *echo.Context) error { return c.String(http.StatusOK, c.Param("id")) })
	e.GET("/status/:code", func(c *echo.Context) error {
		code, _ := strconv.Atoi(c.Param("code"))
		if code >= http.StatusBadRequest {
			return echo.NewHTTPError(code, "for the test")
		}
		return c.NoContent(code)
	})
	standard := e.HTTPErrorHandler
	e.HTTPErrorHandler = func(c *echo.Context, err error) {
		if failed := late(0); errors.As(err, &failed) {
			err = c.String(int(failed), "late")
		}
		if err != nil {
			standard(c, err)
		}
	}
	e.GET("/late/:code", func(c *echo.Context) error {
		code, _ := strconv.Atoi(c.Param("code"))
		return late(code)
	})
	e.GET("/panic", func(*echo.Context) error { panic("for the test") })
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return server.URL
}

func TestEcho(t *testing.T) {
	runAdapter(t, func(t *testing.T, policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) string {
		return serveEcho(t, echoadapter.New(policy, key, options...))
	})
	t.Run("in flight", func(t *testing.T) {
		one := oneInFlight(t)
		releases(t, one, serveEcho(t, echoadapter.By(httplimit.InFlight(one, httplimit.All()))))
	})
	t.Run("by a decider", func(t *testing.T) { runBy(t, serveEcho(t, echoadapter.By(new(countingDecider)))) })
}
