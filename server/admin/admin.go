// Package admin is the listener for operators: metrics, policies, keys, profiles. It makes
// no decisions of its own; docs/reference/admin.yaml describes each call.
//
//	admin.go     the calls
//	guard.go     which calls are refused: tokens, Host, Origin
//	decode.go    bodies and queries
//	policies.go  policies, and changes of them
//	explain.go   the state of a key under each limit
//	hashed.go    keys that are counted under their hash
//	keys.go      top keys, limited keys, give, reset
//	settings.go  the configuration, the log level
//	problem.go   answers and errors
package admin

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/keyhash"
	"github.com/headgate/headgate/server/policies"
	"github.com/headgate/headgate/server/problem"
	"github.com/headgate/headgate/server/requestid"
	"github.com/headgate/headgate/server/service"
	"github.com/headgate/headgate/server/topkeys"
)

// Config sets up the handler.
type Config struct {
	// TokenFile has the valid tokens; it is read at each call. "" asks for none.
	TokenFile string
	// Hosts are the names that a request may give as its Host, besides the address of
	// the listener and localhost.
	Hosts []string
	// Metrics answers /metrics.
	Metrics http.Handler
	// Policies keeps the policies in force, Service decides by them, and Top counts the
	// keys.
	Policies *policies.Manager
	Service  *service.Service
	Top      *topkeys.Tracker
	// HashKeys are the secrets that keys are hashed with; nil if they are not.
	HashKeys *keyhash.File
	// ShowKey returns what the log shows of a key. The default is the whole key.
	ShowKey func(key string) string
	// Decide decides operations that are no requests of clients.
	Decide func(ctx context.Context, ops []engine.Op, results []headgate.Result)
	// Settings are the settings of the server, without secrets.
	Settings any
	// Level is the level of the log.
	Level *slog.LevelVar
	// Logger gets a line for each refused call, at most 10 in a second, and one for each
	// call that changes something.
	Logger *slog.Logger
}

// api answers the calls.
type api struct{ Config }

// call answers one call with a value, or returns its error.
type call func(w http.ResponseWriter, r *http.Request) (any, error)

// calls are the calls of the API by method and path.
func (a *api) calls() map[string]call {
	return map[string]call{
		"GET /admin/v1/policies":        a.listPolicies,
		"GET /admin/v1/policies/{name}": a.showPolicy,
		"GET /admin/v1/changes":         a.listChanges,
		"POST /admin/v1/changes":        a.change,
		"POST /admin/v1/changes/try":    a.try,
		"POST /admin/v1/changes/clear":  a.clear,
		"POST /admin/v1/reload":         a.reload,
		"POST /admin/v1/keys/explain":   a.explain,
		"POST /admin/v1/keys/give":      a.give,
		"POST /admin/v1/keys/reset":     a.reset,
		"GET /admin/v1/keys/top":        a.top,
		"GET /admin/v1/keys/limited":    a.limited,
		"GET /admin/v1/config":          a.settings,
		"GET /admin/v1/log-level":       a.level,
		"POST /admin/v1/log-level":      a.setLevel,
	}
}

// New returns the handler of the admin listener.
func New(c Config) http.Handler {
	if c.ShowKey == nil {
		c.ShowKey = func(key string) string { return key }
	}
	a := &api{c}
	mux := http.NewServeMux()
	paths := a.paths()
	paths["/metrics"] = map[string]http.HandlerFunc{http.MethodGet: c.Metrics.ServeHTTP}
	for path, handle := range map[string]http.HandlerFunc{"": pprof.Index, "profile": pprof.Profile, "trace": pprof.Trace, "symbol": pprof.Symbol} {
		paths["/debug/pprof/"+path] = map[string]http.HandlerFunc{http.MethodGet: handle}
	}
	for path, methods := range paths {
		mux.HandleFunc(path, problem.Methods(methods))
	}
	mux.HandleFunc("/", problem.NotFound)
	return requestid.Handler(&guard{tokenFile: c.TokenFile, hosts: c.Hosts, log: &refusalLog{logger: c.Logger}, next: mux})
}

// paths are the handlers of the calls by path and method.
func (a *api) paths() map[string]map[string]http.HandlerFunc {
	paths := map[string]map[string]http.HandlerFunc{}
	for pattern, answer := range a.calls() {
		method, path, _ := strings.Cut(pattern, " ")
		if paths[path] == nil {
			paths[path] = map[string]http.HandlerFunc{}
		}
		paths[path][method] = func(w http.ResponseWriter, r *http.Request) {
			v, err := answer(w, r)
			if err != nil {
				a.fail(w, r, err)
				return
			}
			problem.WriteJSON(w, http.StatusOK, v)
		}
	}
	return paths
}

// fail answers an error. A body that is too large is logged, like a refused call.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status == http.StatusRequestEntityTooLarge || p.Status == http.StatusUnsupportedMediaType {
		a.Logger.Warn("admin call refused", "reason", p.Detail, "client", r.RemoteAddr, "method", r.Method, "path", r.URL.Path, "request_id", requestid.From(r.Context()))
	}
	p.Write(w)
}
