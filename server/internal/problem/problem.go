// Package problem writes the answers of the HTTP listeners as JSON, with errors as in RFC 9457.
package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

var statuses = map[service.Code]int{
	service.Invalid:     http.StatusBadRequest,
	service.NotFound:    http.StatusNotFound,
	service.WrongVerb:   http.StatusUnprocessableEntity,
	service.Forbidden:   http.StatusForbidden,
	service.Unavailable: http.StatusServiceUnavailable,
}

// Of returns the problem for an error from the service, or for a body that is too large. ok is false for other
// errors.
func Of(err error) (p wire.Problem, ok bool) {
	var decided *service.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &decided):
		return wire.NewProblem(statuses[decided.Code], decided.Field, strings.TrimPrefix(decided.Error(), "headgate: ")), true
	case errors.As(err, &tooLarge):
		return wire.NewProblem(http.StatusRequestEntityTooLarge, "", "body is larger than "+size(tooLarge.Limit)), true
	default:
		return wire.Problem{}, false
	}
}

func size(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprint(bytes>>20, " MiB")
	}
	return fmt.Sprint(bytes>>10, " KiB")
}

// OfRoute returns the answer to a routed request, and adds the rate-limit headers to h if the decision is known. If ok
// is true, the request may pass. Otherwise the answer is p. Its status is the argument denied if a limit denied the
// request, the error's status if the decision is not known, and otherwise noKey's status for a missing part of the key.
func OfRoute(h http.Header, denied int, q *decide.Request, r *decide.Response) (p wire.Problem, ok bool) {
	if r.Err != nil {
		p, _ = Of(r.Err) // every error from the service has a problem
		return p, false
	}
	r.WriteHeaders(h)
	if r.Allowed {
		return p, true
	}
	if lack := q.Route.NoKey; lack != nil {
		return noKey(denied, lack), false
	}
	return wire.QuotaExceeded(denied, r.Full, r.Policy, q.CountedBy(r)), false
}

// NoRoutes is the detail of the error for a proxy that calls a server without routes. Admitting every request instead
// would hide the mistake.
const NoRoutes = "this server has no routes to decide by; accepted: --config with a policies file that has routes"

// noKey returns the problem for a request that lacks a part of its route's key. Its status is the route's if denied
// is 429, or if the route's status is 401 or 403. Otherwise it is denied, because nginx forwards only 401 and 403.
func noKey(denied int, lack *wire.NoKeyError) wire.Problem {
	p := lack.Problem()
	if denied != http.StatusTooManyRequests && p.Status != http.StatusUnauthorized && p.Status != http.StatusForbidden {
		p.Status, p.Title = denied, http.StatusText(denied)
	}
	return p
}

// Unread prepares an answer that is sent before the request's body is read: the connection ends after the answer.
// If it did not, an HTTP/1 server would read the rest of the body, up to 256 KiB, before it sends the header, and a
// refused client that sent no body would wait for 10 s (regression: bug 70).
func Unread(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

// WithoutPages wraps handle: a request sent by a web page, according to the browser's headers, gets a 403, and refused
// is called. All other requests go to handle.
func WithoutPages(handle http.HandlerFunc, refused func()) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if fromPage(r) {
			refused()
			Unread(w, r)
			wire.NewProblem(http.StatusForbidden, "", "a web page sent this request; accepted: requests of programs, without Origin").Write(w)
			return
		}
		handle(w, r)
	}
}

// fromPage reports whether a browser indicates that a web page sent the request. A page opened by a user of this
// network may come from any site, and could spend the units of other callers. A proxy that calls /v1/authorize
// forwards these headers from its client, so they have no meaning there.
func fromPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Header.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin"
}

// UnknownHost explains the refusal of a request that does not name this server.
const UnknownHost = "the Host is not of this server; accepted: its address, localhost, or a name of --admin-host"

// KnownHost reports whether a request names this server: by its address, as localhost, or by one of the names. The Host
// of a page whose name was rebound to this server is another.
func KnownHost(r *http.Request, names []string) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) }) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return local != nil && local.AddrPort().Addr().Unmap() == ip.Unmap()
}

// NotFound returns the handler for unknown paths. It calls refused for each request.
func NotFound(refused func()) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		refused()
		wire.NewProblem(http.StatusNotFound, "", "no such path: "+engine.Cut(r.URL.Path)).Write(w)
	}
}

// Methods dispatches requests by method, and answers other methods with a problem. It is used because a mux with
// methods in its patterns would answer other methods in plain text. GET includes HEAD. It calls refused for requests with
// other methods.
func Methods(handlers map[string]http.HandlerFunc, refused func()) http.HandlerFunc {
	methods := slices.Sorted(maps.Keys(handlers))
	return func(w http.ResponseWriter, r *http.Request) {
		handle := handlers[r.Method]
		if handle == nil && r.Method == http.MethodHead {
			handle = handlers[http.MethodGet]
		}
		if handle != nil {
			handle(w, r)
			return
		}
		refused()
		w.Header().Set("Allow", strings.Join(methods, ", "))
		wire.NewProblem(http.StatusMethodNotAllowed, "", "method must be "+strings.Join(methods, " or ")).Write(w)
	}
}

// WriteText answers a request with a value that is already encoded as JSON and ends with a newline.
func WriteText(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // fails only if the client is gone
}

// WriteJSON answers a request with a value, encoded as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil { // the listeners' values can always be encoded
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // fails only if the client is gone
}
