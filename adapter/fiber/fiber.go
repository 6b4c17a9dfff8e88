// Package fiberadapter limits the requests of a fiber server, version 3.
//
//	app.Use("/*", fiberadapter.New(perIP, httplimit.ByIP()))
//
// With "/*" it also sees a target without a slash, as in GET login, for which fiber runs handlers of "/*", but no
// middleware of Use without a path.
//
// The keys, options and responses are the same as in package httplimit. Their functions receive a net/http request
// with the method, URL, host, headers and address of fiber's request, but without its body. For a route parameter such
// as :id, use [httplimit.ByPathValue]("id") in middleware on that route.
package fiberadapter

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/httplimit/wire"
)

// New returns middleware that charges each request to a policy, like [httplimit.New].
func New(policy *headgate.Policy, key httplimit.Key, options ...httplimit.Option) fiber.Handler {
	return handler(httplimit.NewMiddleware(policy, key, options...))
}

// By returns middleware that lets a decider, such as the routes of a policies file, decide each request. See
// [httplimit.By].
func By(decider httplimit.Decider, options ...httplimit.Option) fiber.Handler {
	return handler(httplimit.MiddlewareBy(decider, options...))
}

func handler(m *httplimit.Middleware) fiber.Handler {
	return func(c fiber.Ctx) (err error) {
		r, err := request(c)
		if err != nil {
			return fiber.NewError(http.StatusBadRequest, "the URL is malformed")
		}
		w := newWriter(c)
		charge, ok := m.Admit(w, r)
		w.copyHeader()
		if !ok {
			return nil // Admit has responded
		}
		if m.Settles(&charge) {
			end := &end{m, r, &charge, c.RequestCtx()}
			c.RequestCtx().SetUserValue(end, end)
		}
		return c.Next()
	}
}

// end settles the charge of a request. fasthttp closes a request's values after it has sent the response. Until then,
// the error handler or an outer handler can replace the response, so the charge must not be settled earlier.
type end struct {
	middleware *httplimit.Middleware
	request    *http.Request
	charge     *httplimit.Admission
	ctx        *fasthttp.RequestCtx
}

// Close settles the charge.
func (e *end) Close() error {
	e.middleware.Settle(e.request, e.charge, responseOf(&e.ctx.Response))
	return nil
}

// request converts fiber's request. The strings are copied, because fiber reuses a request's memory. The path is the one
// that fiber finds handlers by: of //x/y, for example, it is /y (bug 99).
func request(c fiber.Ctx) (*http.Request, error) {
	config, uri := c.App().Config(), string(c.Request().RequestURI())
	path := strings.Clone(c.Path())
	parsed := &url.URL{Path: path} // already decoded
	if !config.UnescapePath {
		var err error
		if parsed, err = url.ParseRequestURI(path); err != nil || parsed.Scheme != "" || parsed.Host != "" || parsed.Opaque != "" || strings.Contains(path, "?") {
			return nil, errPath
		}
	}
	parsed.RawQuery = string(c.Request().URI().QueryString())
	r := &http.Request{
		Method: string(c.Request().Header.Method()), URL: parsed, RequestURI: uri, Host: string(c.Request().Host()),
		RemoteAddr: c.RequestCtx().RemoteAddr().String(), ContentLength: bodySize(&c.Request().Header),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody,
	}
	for name, value := range c.Request().Header.All() {
		r.Header.Add(string(name), string(value))
	}
	if route := c.Route(); route != nil {
		for _, name := range route.Params {
			r.SetPathValue(name, string([]byte(c.Params(name))))
		}
	}
	if r = r.WithContext(c.Context()); !config.CaseSensitive {
		r = wire.AnyCase(r)
	}
	return r, nil
}

// bodySize returns the size as in net/http: 0 for no body, which is -2 in fasthttp, and -1 if it is unknown.
func bodySize(h *fasthttp.RequestHeader) int64 {
	if n := h.ContentLength(); n >= -1 {
		return int64(n)
	}
	return 0
}

var errPath = errors.New("the path is malformed")

func responseOf(response *fasthttp.Response) httplimit.Response {
	o := httplimit.Response{Status: response.StatusCode()}
	if after := response.Header.Peek("Retry-After"); len(after) > 0 {
		o.Header = http.Header{"Retry-After": {string(after)}}
	}
	if response.IsBodyStream() {
		o.Bytes = max(0, int64(response.Header.ContentLength()))
	} else {
		o.Bytes = int64(len(response.Body()))
	}
	return o
}

// writer writes to fiber's response.
type writer struct {
	ctx    fiber.Ctx
	header http.Header
}

// newWriter returns a writer whose headers already contain the limits of outer middleware, so that httplimit adds to
// them.
func newWriter(c fiber.Ctx) *writer {
	w := &writer{ctx: c, header: http.Header{}}
	for _, name := range []string{"Ratelimit", "Ratelimit-Policy"} {
		if value := string(c.Response().Header.Peek(name)); value != "" {
			w.header.Set(name, value)
		}
	}
	return w
}

func (w *writer) Header() http.Header         { return w.header }
func (w *writer) WriteHeader(status int)      { w.ctx.Status(status) }
func (w *writer) Write(p []byte) (int, error) { return w.ctx.Write(p) }

func (w *writer) copyHeader() {
	for name, values := range w.header {
		for _, value := range values {
			w.ctx.Response().Header.Set(name, value)
		}
	}
}
