// Package admin implements the listener for operators: metrics, policies, keys, profiles. It makes no decisions
// itself. Package adminapi defines the calls and their types.
//
//	admin.go     the calls
//	guard.go     access control: users, Host, Origin
//	policies.go  policies and changes to them
//	explain.go   the state of a key under each limit
//	hashed.go    keys that are counted under their hash
//	keys.go      top keys, limited keys, give, reset
//	shadows.go   the effect of shadows
//	settings.go  the configuration, the log level, a caller's rights
//	snapshot.go  the snapshot for each second, and the stream of snapshots
//	timeline.go  the latest decisions on a key
//	history.go   the latest actions of operators
//	problem.go   errors
package admin

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/keyhash"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/feed"
	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/policies"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/topkeys"
	"github.com/headgate/headgate/server/internal/users"
)

// maxLines is the maximum number of refused calls logged per second.
const maxLines = 10

// Config configures the handler.
type Config struct {
	// Users lists the users. Users with the right to read are operators. If Users is nil, every caller may administer.
	Users *users.File
	// WrongSecret is called with the address of a client whose secret belongs to no user. It can be nil.
	WrongSecret func(client string)
	// Hosts lists additional names accepted in a request's Host header. The listener's address and localhost are
	// always accepted.
	Hosts []string
	// Metrics serves /metrics.
	Metrics http.Handler
	// Policies holds the active policies, Service makes decisions with them, and Top counts the keys.
	Policies *policies.Manager
	Service  *service.Service
	Top      *topkeys.Tracker
	// Feed provides the events of each second.
	Feed *feed.Feed
	// Server describes this server.
	Server func() *adminapi.Server
	// Page serves the operators' page. It can be nil.
	Page http.Handler
	// Version is the version of the server, which the page shows.
	Version string
	// Shadows returns counts for each policy with a shadow. They compare the policy's decisions with the decisions that
	// its shadow would make.
	Shadows func() []adminapi.Shadow
	// HashKeys holds the secrets for hashing keys. It is nil if keys are not hashed.
	HashKeys *keyhash.File
	// ShowKey returns a key as it appears in the log. If it is nil, the log contains whole keys.
	ShowKey func(key string) string
	// Decide decides operations that do not come from clients' requests.
	Decide func(ctx context.Context, ops []engine.Op, results []engine.Answer)
	// AcceptLoss accepts a loss of the store's data: see [fallback.Store.AcceptLoss]. It is nil for a store that
	// processes do not share.
	AcceptLoss func(ctx context.Context) (lost bool, err error)
	// Outage returns the state of the store. If it is nil, the store is always available.
	Outage func() metrics.Outage
	// OpenOf returns up to most open reservations of a key: see [engine.Keeper]. If it is nil, none are shown.
	OpenOf func(ctx context.Context, key string, most int, under ...string) ([]*engine.Reservation, error)
	// Counts reports whether a policy with this namespace can count a key. If it is nil, each policy counts all keys.
	Counts func(policy, space, key string) bool
	// Stored returns the names of the keys on Redis that hold an operation's states. It is nil in memory.
	Stored func(op *engine.Op) []string
	// Settings holds the server's settings, without secrets.
	Settings any
	// InvalidFiles returns the files that were last read with errors. It can be nil.
	InvalidFiles func() []metrics.InvalidFile
	// Logger receives a line for each call that changes something, and at most 10 lines a second for refused calls.
	Logger *slog.Logger
}

type api struct {
	Config

	guard   *guard
	history history
}

// calls returns all calls with their handlers.
func (a *api) calls() []adminapi.Endpoint {
	return []adminapi.Endpoint{
		adminapi.GetAccess.By(a.access),
		adminapi.ListPolicies.By(a.listPolicies),
		adminapi.ShowPolicy.By(a.showPolicy),
		adminapi.ListChanges.By(a.listChanges),
		adminapi.TryChange.By(a.try),
		adminapi.ListHistory.By(a.listHistory),
		adminapi.ExplainKey.By(a.explain),
		adminapi.ShowTimeline.By(a.timeline),
		adminapi.ListTop.By(a.top),
		adminapi.ListLimited.By(a.limited),
		adminapi.ListShadows.By(a.shadows),
		adminapi.GetConfig.By(a.settings),
		adminapi.MakeChange.By(a.change),
		adminapi.ClearChange.By(a.clear),
		adminapi.Reload.By(a.reload),
		adminapi.AcceptLoss.By(a.acceptLoss),
		adminapi.GiveUnits.By(a.give),
		adminapi.ResetKey.By(a.reset),
	}
}

// New returns the handler of the admin listener.
func New(c Config) http.Handler {
	if c.ShowKey == nil {
		c.ShowKey = func(key string) string { return key }
	}
	mux := http.NewServeMux()
	g := &guard{users: c.Users, wrong: c.WrongSecret, hosts: c.Hosts, lines: lograte.Limit{Lines: maxLines, Per: time.Second}, logger: c.Logger, page: c.Page, next: mux}
	a := &api{Config: c, guard: g}
	noPath := func() { c.Service.Refused(service.Admin, service.NoPath) }
	for path, methods := range a.paths() {
		mux.HandleFunc(path, problem.Methods(methods, noPath))
	}
	mux.HandleFunc("/", problem.NotFound(noPath))
	return requestid.Handler(g)
}

// paths returns the handlers of all calls by path and method. Profiles require the right to operate, because they cost
// the server time and reveal more than the other calls.
func (a *api) paths() map[string]map[string]http.HandlerFunc {
	paths := map[string]map[string]http.HandlerFunc{}
	add := func(pattern string, handle http.HandlerFunc) {
		method, path, _ := strings.Cut(pattern, " ")
		if paths[path] == nil {
			paths[path] = map[string]http.HandlerFunc{}
		}
		paths[path][method] = handle
	}
	for _, e := range a.calls() {
		handle := a.answer(e)
		if e.Acts {
			handle = a.guard.operating(handle)
		}
		add(e.Pattern, handle)
	}
	add("GET /metrics", a.Metrics.ServeHTTP)
	add("GET "+adminapi.EventsPath, a.events)
	for path, handle := range map[string]http.HandlerFunc{"": pprof.Index, "profile": pprof.Profile, "trace": pprof.Trace, "symbol": pprof.Symbol} {
		add("GET /debug/pprof/"+path, a.guard.operating(handle))
	}
	return paths
}

func (a *api) answer(e adminapi.Endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := e.Answer(w, r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		problem.WriteJSON(w, http.StatusOK, v)
	}
}

// fail writes an error. A body that is too large, or whose content type is not JSON, is logged like a refused call.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status == http.StatusRequestEntityTooLarge || p.Status == http.StatusUnsupportedMediaType {
		a.guard.refused(r, p.Detail)
	}
	p.Write(w)
}
