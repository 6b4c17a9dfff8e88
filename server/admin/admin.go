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
//	shadows.go   what shadows would change
//	settings.go  the configuration, the log level, what a caller may do
//	snapshot.go  what happens in each second, and the stream of it
//	timeline.go  the last decisions of a key
//	history.go   the last actions of operators
//	problem.go   answers and errors
package admin

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/dashboard/feed"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/keyhash"
	"github.com/headgate/headgate/server/policies"
	"github.com/headgate/headgate/server/problem"
	"github.com/headgate/headgate/server/requestid"
	"github.com/headgate/headgate/server/service"
	"github.com/headgate/headgate/server/shadows"
	"github.com/headgate/headgate/server/topkeys"
)

// Config sets up the handler.
type Config struct {
	// TokenFile has the valid tokens; it is read at each call. "" asks for none.
	TokenFile string
	// WrongToken is called with the address of a client that has shown a token that is not
	// valid; nil is none.
	WrongToken func(client string)
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
	// Feed is what happens in each second.
	Feed *feed.Feed
	// Page answers requests for the page of operators; nil is none.
	Page http.Handler
	// Version is that of the server.
	Version string
	// Shadows returns what the policies' shadows would change.
	Shadows func() []shadows.Comparison
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
type api struct {
	Config

	guard   *guard
	history history
}

// call answers one call with a value, or returns its error.
type call func(w http.ResponseWriter, r *http.Request) (any, error)

// reading are the calls that change nothing, by method and path.
func (a *api) reading() map[string]call {
	return map[string]call{
		"GET /admin/v1/access":          a.access,
		"GET /admin/v1/policies":        a.listPolicies,
		"GET /admin/v1/policies/{name}": a.showPolicy,
		"GET /admin/v1/changes":         a.listChanges,
		"POST /admin/v1/changes/try":    a.try,
		"GET /admin/v1/history":         a.listHistory,
		"POST /admin/v1/keys/explain":   a.explain,
		"POST /admin/v1/keys/timeline":  a.timeline,
		"GET /admin/v1/keys/top":        a.top,
		"GET /admin/v1/keys/limited":    a.limited,
		"GET /admin/v1/shadows":         a.shadows,
		"GET /admin/v1/config":          a.settings,
		"GET /admin/v1/log-level":       a.level,
	}
}

// administering are the calls that change something, by method and path.
func (a *api) administering() map[string]call {
	return map[string]call{
		"POST /admin/v1/changes":       a.change,
		"POST /admin/v1/changes/clear": a.clear,
		"POST /admin/v1/reload":        a.reload,
		"POST /admin/v1/keys/give":     a.give,
		"POST /admin/v1/keys/reset":    a.reset,
		"POST /admin/v1/log-level":     a.setLevel,
	}
}

// New returns the handler of the admin listener.
func New(c Config) http.Handler {
	if c.ShowKey == nil {
		c.ShowKey = func(key string) string { return key }
	}
	mux := http.NewServeMux()
	g := &guard{tokenFile: c.TokenFile, wrong: c.WrongToken, hosts: c.Hosts, log: &refusalLog{logger: c.Logger}, page: c.Page, next: mux}
	a := &api{Config: c, guard: g}
	for path, methods := range a.paths() {
		mux.HandleFunc(path, problem.Methods(methods))
	}
	mux.HandleFunc("/", problem.NotFound)
	return requestid.Handler(g)
}

// paths are the handlers of all calls by path and method. A profile costs the server time,
// and shows more of it than reading is meant to.
func (a *api) paths() map[string]map[string]http.HandlerFunc {
	paths := map[string]map[string]http.HandlerFunc{}
	add := func(method, path string, handle http.HandlerFunc) {
		if paths[path] == nil {
			paths[path] = map[string]http.HandlerFunc{}
		}
		paths[path][method] = handle
	}
	for pattern, answer := range a.reading() {
		method, path, _ := strings.Cut(pattern, " ")
		add(method, path, a.answer(answer))
	}
	for pattern, answer := range a.administering() {
		method, path, _ := strings.Cut(pattern, " ")
		add(method, path, a.guard.administering(a.answer(answer)))
	}
	add(http.MethodGet, "/metrics", a.Metrics.ServeHTTP)
	add(http.MethodGet, eventsPath, a.events)
	for path, handle := range map[string]http.HandlerFunc{"": pprof.Index, "profile": pprof.Profile, "trace": pprof.Trace, "symbol": pprof.Symbol} {
		add(http.MethodGet, "/debug/pprof/"+path, a.guard.administering(handle))
	}
	return paths
}

// answer returns the handler of a call.
func (a *api) answer(answer call) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := answer(w, r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		problem.WriteJSON(w, http.StatusOK, v)
	}
}

// fail answers an error. A body that is too large, or no JSON, is logged like a refused call.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status == http.StatusRequestEntityTooLarge || p.Status == http.StatusUnsupportedMediaType {
		a.guard.log.refused(r, p.Detail)
	}
	p.Write(w)
}
