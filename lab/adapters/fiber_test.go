package adapters

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/recover"

	"github.com/headgate/headgate"
	fiberadapter "github.com/headgate/headgate/adapter/fiber"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
)

func serveFiber(t *testing.T, limit fiber.Handler) string {
	app := fiber.New(fiber.Config{ErrorHandler: func(c fiber.Ctx, err error) error {
		if failed := late(0); errors.As(err, &failed) {
			return c.Status(int(failed)).SendString("late")
		}
		return fiber.DefaultErrorHandler(c, err)
	}})
	app.Use(recover.New())
	app.Get("/hello", limit, func(c fiber.Ctx) error { return c.SendString("hello") })
	app.Get("/users/:id", limit, func(c fiber.Ctx) error { return c.SendString(c.Params("id")) })
	app.Get("/status/:code", limit, func(c fiber.Ctx) error {
		code, _ := strconv.Atoi(c.Params("code"))
		if code >= http.StatusBadRequest {
			return fiber.NewError(code)
		}
		c.Status(code)
		return nil
	})
	app.Get("/late/:code", limit, func(c fiber.Ctx) error {
		code, _ := strconv.Atoi(c.Params("code"))
		return late(code)
	})
	app.Get("/panic", limit, func(fiber.Ctx) error { panic("for the test") })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	t.Cleanup(func() {
		if err := app.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

func TestFiber(t *testing.T) {
	runAdapter(t, func(t *testing.T, policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) string {
		return serveFiber(t, fiberadapter.New(policy, key, options...))
	})
	t.Run("in flight", func(t *testing.T) {
		one := oneInFlight(t)
		releases(t, one, serveFiber(t, fiberadapter.By(httplimit.InFlight(one, httplimit.All()))))
	})
	t.Run("by a decider", func(t *testing.T) { runBy(t, serveFiber(t, fiberadapter.By(new(countingDecider)))) })
}

// seen records the requests that a decider gets.
type seen []string

func (s *seen) AllowRequest(r *http.Request) (headgate.Decision, error) {
	*s = append(*s, r.Method+" "+r.URL.String()+" "+strconv.FormatInt(r.ContentLength, 10))
	return headgate.Decision{Allowed: true, Unlimited: true}, nil
}

// TestFiberTargets checks that no target reaches a handler for all paths without a decision (regression: bug 230), and
// that the decision knows the size of the body as in net/http (regression: bug 231).
func TestFiberTargets(t *testing.T) {
	for request, want := range map[string]string{
		"GET /login": "GET /login 0", "GET http://h/login": "GET /login 0", "POST /login": "POST /login 0",
		"GET login": "", "GET ?a": "", "GET x:/login": "", "GET *": "GET * 0",
	} {
		decided := &seen{}
		app := fiber.New()
		app.Use("/*", fiberadapter.By(decided))
		app.All("/*", func(c fiber.Ctx) error { return c.SendString("reached") })
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
		method, target, _ := strings.Cut(request, " ")
		_, body := ask(t, listener.Addr().String(), method, target)
		if got := strings.Join(*decided, ", "); got != want || (body == "reached") != (want != "") {
			t.Errorf("%s: decided %q, answered %q", request, got, body)
		}
		if err := errors.Join(app.Shutdown(), <-stopped); err != nil {
			t.Error(err)
		}
	}
}

// A second middleware adds its limit to the first one's headers.
func TestFiberNested(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	policy := func(name string) fiber.Handler {
		return fiberadapter.New(limiter.PolicyOf(name, rule.FixedWindow(rule.PerHour(9))), httplimit.All())
	}
	app := fiber.New()
	app.Get("/", policy("a"), policy("b"), func(c fiber.Ctx) error { return c.SendString("hello") })
	response, err := app.Test(httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Values("Ratelimit"); len(got) != 1 || got[0] != `"a";r=8;t=3600, "b";r=8;t=3600` {
		t.Errorf("%q", got)
	}
}
