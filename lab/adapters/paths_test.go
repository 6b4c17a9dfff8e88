// Package adapters tests the adapters for HTTP frameworks.
//
//	suite_test.go   what every adapter does alike
//	paths_test.go   the routes of a policies file, and spellings of paths
package adapters

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v3"
	"github.com/labstack/echo/v5"

	"github.com/headgate/headgate"
	echoadapter "github.com/headgate/headgate/adapter/echo"
	fiberadapter "github.com/headgate/headgate/adapter/fiber"
	ginadapter "github.com/headgate/headgate/adapter/gin"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

// denied are the routes of each server's handlers. Their policy denies everything, so that a request that reaches a
// handler was decided by no route.
const denied = `
policies: {none: {deny: true}}
routes:
  - {match: {path: "/search/{q}"}, key: [{const: all}], policies: [none]}
  - {match: {path: "/pair/{a}/{b}"}, key: [{const: all}], policies: [none]}
  - {match: {path: "/files/**"}, key: [{const: all}], policies: [none]}
  - {match: {path: "/accounts/{account}/sign-in"}, key: [{const: all}], policies: [none]}
`

// spellings are other spellings of the paths of handlers.
var spellings = []string{
	"/search/a", "/search/a%2fb", "/search/a%2Fb", "/search/%2e%2e", "/search/%2E%2e", "/search/..", "/search/.", "/search/%2e", "/search/%2e%2e%2fx", "/search/a%252fb",
	"/search/a%5cb", `/search/a\b`, "/search/%2e%2e;x", "/search/%252e%252e", "/search/..%2f..", "/search/a/", "/search//a", "//search/a", "//x/search/a", "/x//search/a",
	"/./search/a", "/x/../search/a", "/%2e/search/a", "/x/%2e%2e/search/a", "/x%2f..%2fsearch/a", "/Search/a", "/SEARCH/a", "/%73earch/a", "/search/;a", "/search/%3ba", "/search/a;b", "/search%2fa", "/search/%61", "/search/%00",
	"/search/a?b", "/search/a%3fb", "/search/a%23b", "/search;x/a", "/search/%20", "/search/+", "/search/%", "/search/%zz", "http://h/search/a", "http://h//search/a", "/search/%2f", "/search/%2f%2f",
	"/pair/a/b", "/pair/a%2fb", "/pair/a%2fb/c", "/pair//b", "/pair/a/", "/pair/a//", "/pair/%2f/b", "/pair/a%2f%2fb", "/Pair/a%2Fb",
	"/files/x", "/files/%2e%2e/x", "/files/../x", "/files/..%2fx", "/files/x/../../y", "/files/%2e%2e", "/files/a%2fb", "/files//x", "/Files/x", "/files/", "/files/%2fx", "/files/.", "/files/./x", "/files%2fx", "/files/..;/x",
	"/accounts/ann/sign-in", "/Accounts/ann/sign-in", "/accounts/ann/Sign-In/", "/accounts//sign-in", "/accounts/ann%2fsign-in", "/accounts/%2e%2e/sign-in", "/accounts/a%2fb/sign-in", "/accounts/%2f/sign-in", "/accounts/./sign-in",
}

// server returns the address of a server that uses the middleware in front of handlers.
type server func(t *testing.T, decider httplimit.Decider) (address string)

var servers = map[string]server{
	"net/http": func(t *testing.T, decider httplimit.Decider) string {
		mux := http.NewServeMux()
		for _, path := range []string{"/search/{q}", "/pair/{a}/{b}", "/files/", "/accounts/{account}/sign-in"} {
			mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached") })
		}
		return serve(t, httplimit.By(decider)(mux))
	},
	"gin":                   ofGin(func(*gin.Engine) {}),
	"gin, raw":              ofGin(func(e *gin.Engine) { e.UseRawPath = true }),
	"gin, raw, not decoded": ofGin(func(e *gin.Engine) { e.UseRawPath, e.UnescapePathValues = true, false }),
	"gin, slashes":          ofGin(func(e *gin.Engine) { e.RemoveExtraSlash = true }),
	"gin, escaped":          ofGin(func(e *gin.Engine) { e.UseEscapedPath = true }),
	"echo":                  ofEcho(echo.RouterConfig{}),
	"echo, other":           ofEcho(echo.RouterConfig{UseEscapedPathForMatching: true}),
	"fiber":                 ofFiber(fiber.Config{}),
	"fiber, case":           ofFiber(fiber.Config{CaseSensitive: true}),
	"fiber, strict":         ofFiber(fiber.Config{StrictRouting: true}),
	"fiber, decoded":        ofFiber(fiber.Config{UnescapePath: true}),
}

func ofGin(set func(*gin.Engine)) server {
	return func(t *testing.T, decider httplimit.Decider) string {
		gin.SetMode(gin.ReleaseMode)
		e := gin.New()
		set(e)
		e.Use(ginadapter.By(decider))
		for _, path := range []string{"/search/:q", "/pair/:a/:b", "/files/*p", "/accounts/:account/sign-in"} {
			e.GET(path, func(c *gin.Context) { c.String(http.StatusOK, "reached") })
		}
		return serve(t, e)
	}
}

func ofEcho(config echo.RouterConfig) server {
	return func(t *testing.T, decider httplimit.Decider) string {
		e := echo.NewWithConfig(echo.Config{Router: echo.NewRouter(config), Logger: slog.New(slog.DiscardHandler)})
		e.Use(echoadapter.By(decider))
		for _, path := range []string{"/search/:q", "/pair/:a/:b", "/files/*", "/accounts/:account/sign-in"} {
			e.GET(path, func(c *echo.Context) error { return c.String(http.StatusOK, "reached") })
		}
		return serve(t, e)
	}
}

func ofFiber(config fiber.Config) server {
	return func(t *testing.T, decider httplimit.Decider) string {
		app := fiber.New(config)
		app.Use("/*", fiberadapter.By(decider))
		for _, path := range []string{"/search/:q", "/pair/:a/:b", "/files/*", "/accounts/:account/sign-in"} {
			app.All(path, func(c fiber.Ctx) error { return c.SendString("reached") })
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- app.Listener(l, fiber.ListenConfig{DisableStartupMessage: true}) }()
		t.Cleanup(func() {
			if err := app.ShutdownWithTimeout(time.Second); err != nil {
				t.Log(err)
			}
			<-stopped
		})
		return l.Addr().String()
	}
}

func serve(t *testing.T, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// ask sends a target as it is, and returns the status and the body.
func ask(t *testing.T, address, method, target string) (status int, body string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", method, target)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, ""
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(text)
}

func decider(t *testing.T, file string) *filelimit.Limiter {
	t.Helper()
	config, err := policy.Parse("x.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	t.Cleanup(func() { _ = limiter.Close() })
	return filelimit.New(config, limiter)
}

// TestNoSpellingLeavesItsRoute checks that no spelling of a path reaches a handler without a decision by the handler's
// route, whatever the framework's settings (regression: bug 99).
func TestNoSpellingLeavesItsRoute(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			address, found := start(t, decider(t, denied)), 0
			for _, target := range spellings {
				status, body := ask(t, address, http.MethodGet, target)
				if body == "reached" {
					t.Errorf("%s reaches its handler", target)
				}
				if status == http.StatusTooManyRequests {
					found++
				}
			}
			if found < 10 {
				t.Errorf("%d spellings were denied by their route, want 10", found)
			}
			open := start(t, decider(t, "policies: {p: {limit: 1000, window: 1h, algorithm: fixed-window}}\nroutes: [{key: [{const: all}], policies: [p]}]"))
			for _, target := range []string{"/search/a", "/pair/a/b", "/files/a/b", "/accounts/ann/sign-in", "/search/%61b"} {
				if _, body := ask(t, open, http.MethodGet, target); body != "reached" {
					t.Errorf("%s does not reach its handler: %q", target, body)
				}
			}
			for _, target := range []string{"/search/%2e%2e", "/search/..", "/files/%2e%2e/x", "/files/..%2fx"} {
				if status, body := ask(t, open, http.MethodGet, target); status == http.StatusOK {
					t.Errorf("%s: %d %q, want a refusal", target, status, body)
				}
			}
		})
	}
}

// TestSignInsInAnyCase limits fiber's sign-ins, whose paths are in any case, with the file of sign-ins.md.
func TestSignInsInAnyCase(t *testing.T) {
	page, err := os.ReadFile("../../docs/sign-ins.md")
	if err != nil {
		t.Fatal(err)
	}
	_, file, _ := strings.Cut(string(page), "```yaml\n")
	file, _, _ = strings.Cut(file, "```")
	address := ofFiber(fiber.Config{})(t, decider(t, file))
	reached := 0
	for range 20 {
		if _, body := ask(t, address, http.MethodPost, "/Accounts/ann/sign-in"); body == "reached" {
			reached++
		}
	}
	if reached != 3 {
		t.Errorf("%d of 20 sign-ins reach their handler, want 3", reached)
	}
}
