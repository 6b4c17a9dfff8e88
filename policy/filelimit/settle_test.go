package filelimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

const settledPolicies = `
policies:
  minute: {algorithm: fixed-window, limit: 10, window: 1m}
  heavy:  {algorithm: fixed-window, limit: 100, window: 1m, cost: 5}
  bytes:  {algorithm: token-bucket, rate: 100/100s, debt: 1000}
  small:  {algorithm: fixed-window, limit: 20, window: 1m}
  quiet:  {algorithm: fixed-window, limit: 1, window: 1m, shadow: true}
  off:    {algorithm: fixed-window, limit: 10, window: 1m, enabled: false}
overrides:
  - {policy: minute, key: vip, unlimited: true}
routes:
  - {match: {path: /own-costs}, key: [{header: X-User}], policies: [minute, heavy]}
  - {match: {path: /download}, key: [{header: X-User}], cost: 0, policies: [bytes, small]}
  - {match: {path: /sign-in}, charge: [{policy: minute, key: [{header: X-User}]}, {policy: small, key: [{query: from}], cost: 3}, {policy: bytes, key: [{query: from}], cost: 0}]}
  - {match: {path: /quiet}, key: [{header: X-User}], policies: [off, quiet]}
`

// settling is middleware with routes and a final cost, on a stopped clock. Its handler overwrites the header that
// contains the key, which must not change the key of the settle.
type settling struct {
	limiter *filelimit.Limiter
	handler http.Handler
	calls   int // number of decided operations
}

// newSettling returns a settling whose handler responds with the status and the number of bytes in the query. The
// handler panics if there is no query.
func newSettling(t *testing.T, rule httplimit.FinalCost) *settling {
	t.Helper()
	config, err := policy.Parse("x.yaml", []byte(settledPolicies))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	store, err := memstore.New(memstore.Config{Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s := &settling{}
	count := func(context.Context, *engine.Op, *engine.Answer) { s.calls++ }
	s.limiter = filelimit.New(config, headgate.New(headgate.WithStore(store), headgate.WithCore(func(c *core.Config) { c.Observer = count })))
	s.handler = httplimit.By(s.limiter, httplimit.WithFinalCost(rule))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-User", "another")
		var status, bytes int
		if _, err := fmt.Sscanf(r.URL.RawQuery, "%d,%d", &status, &bytes); err != nil {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.Repeat("x", bytes))
	}))
	return s
}

// get sends one request from a user. It recovers if the handler panics.
func (s *settling) get(target, user string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(http.MethodGet, target, http.NoBody), httptest.NewRecorder()
	r.Header.Set("X-User", user)
	defer func() { _ = recover() }()
	s.handler.ServeHTTP(w, r)
	return w
}

// spent returns the units spent by a user under each policy, such as "minute 1, heavy 5".
func (s *settling) spent(t *testing.T, user string, policies ...string) string {
	t.Helper()
	var all []string
	for _, name := range policies {
		d, err := s.limiter.Peek(t.Context(), name, user, 0)
		if err != nil {
			t.Fatal(err)
		}
		units := d.Limit - d.Remaining
		if name == "bytes" { // refills one unit a second; ResetAfter includes the debt
			units = int64(d.ResetAfter / time.Second)
		}
		all = append(all, fmt.Sprint(name, " ", units))
	}
	return strings.Join(all, ", ")
}

// The final cost replaces the charge on every limit of a route.
func TestFinalCostByRoutes(t *testing.T) {
	twelve := func(*http.Request, httplimit.Response) int64 { return 12 }
	for _, c := range []struct {
		name, target, user string
		rule               httplimit.FinalCost
		want               string
	}{
		{"not a failure", "/own-costs?200,0", "ann", httplimit.OnlyFailures, "minute 0, heavy 0"},
		{"a failure", "/own-costs?401,0", "ann", httplimit.OnlyFailures, "minute 1, heavy 5"},
		{"a panic", "/own-costs?", "ann", httplimit.OnlyFailures, "minute 0, heavy 0"},
		{"more, up to the limit", "/own-costs?200,0", "ann", twelve, "minute 10, heavy 12"},
		{"a limit that is off for the key", "/own-costs?200,0", "vip", twelve, "minute 0, heavy 12"},
		{"bytes into debt", "/download?200,700", "ann", httplimit.BytesWritten, "bytes 700, small 20"},
		{"no bytes", "/download?304,0", "ann", httplimit.BytesWritten, "bytes 0, small 0"},
		{"no such route", "/other?200,700", "ann", httplimit.BytesWritten, "bytes 0, small 0, minute 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSettling(t, c.rule)
			s.get(c.target, c.user)
			var names []string
			for part := range strings.SplitSeq(c.want, ", ") {
				names = append(names, strings.Fields(part)[0])
			}
			if got := s.spent(t, c.user, names...); got != c.want {
				t.Errorf("spent: %s; want: %s", got, c.want)
			}
		})
	}
}

// A request is not settled if it was denied, lacks its key, or has a final cost equal to its charge.
func TestNothingToSettle(t *testing.T) {
	kept := func(_ *http.Request, o httplimit.Response) int64 { return o.Charged }
	s := newSettling(t, kept)
	for i := range 11 {
		w := s.get("/own-costs?200,0", "ann")
		if want := map[bool]int{true: 200, false: 429}[i < 10]; w.Code != want {
			t.Errorf("request %d: %d, want %d", i, w.Code, want)
		}
	}
	if w := s.get("/own-costs?200,0", ""); w.Code != http.StatusBadRequest {
		t.Errorf("without a key: %d", w.Code)
	}
	if s.calls != 11 {
		t.Errorf("%d operations for 11 requests", s.calls)
	}
}

// The final cost corrects the charges of shadows too. A disabled policy in the same route has no effect.
func TestFinalCostOfShadows(t *testing.T) {
	for _, file := range []string{settledPolicies, strings.ReplaceAll(settledPolicies, "shadow: true", "shadow: false")} {
		config, err := policy.Parse("x.yaml", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		gives := 0
		limiter := filelimit.New(config, headgate.New(headgate.WithCore(func(c *core.Config) {
			c.Observer = func(_ context.Context, op *engine.Op, _ *engine.Answer) {
				for i := range op.Charges {
					if space, _ := op.Subject(i); op.Kind == engine.OpSettle && strings.HasSuffix(space, "policy:quiet") {
						gives++
					}
				}
			}
		})))
		h := httplimit.By(limiter, httplimit.WithFinalCost(httplimit.OnlyFailures))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for range 3 { // only failures count, so the limit of 1 never denies
			r, w := httptest.NewRequest(http.MethodGet, "/quiet", http.NoBody), httptest.NewRecorder()
			r.Header.Set("X-User", "ann")
			if h.ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Errorf("%d", w.Code)
			}
		}
		if gives != 3 {
			t.Errorf("the limit got its unit back %d times, want 3", gives)
		}
	}
}

// A final cost below the charge does not give back units that have refilled since the charge. Even if none of the
// attempts counts in the end, no more than the burst passes (regression: bug 58: 20 failures passed at once with a
// burst of 10).
func TestFinalCostGivesBackWhatIsMissing(t *testing.T) {
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	config, err := policy.Parse("x.yaml", []byte("policies: {p: {algorithm: token-bucket, rate: 10/s, burst: 10}}\nroutes: [{key: [{const: all}], policies: [p]}]"))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New(headgate.WithStore(store))
	defer limiter.Close()
	l := filelimit.New(config, limiter)
	var settles []func(context.Context, int64) error
	for range 10 { // attempts in flight take the whole burst
		a, err := l.ChargeRequest(httptest.NewRequest(http.MethodGet, "/", http.NoBody), true)
		if err != nil || !a.Decision.Allowed {
			t.Fatal(a, err)
		}
		settles = append(settles, a.Settle)
	}
	clock.Advance(time.Second) // the burst has refilled
	passed := 0
	charge := func() {
		for {
			d, err := l.AllowRequest(httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			if err != nil {
				t.Fatal(err)
			}
			if !d.Allowed {
				return
			}
			passed++
		}
	}
	charge()
	for _, settle := range settles { // the final cost of every attempt is 0
		if err := settle(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	charge()
	if passed != 10 {
		t.Errorf("%d requests passed at one instant, the burst is 10", passed)
	}
}

// TestDisconnectDuringARoutesPacer checks that the charge of a client that leaves is given back to the pacer and to
// the other limit.
func TestDisconnectDuringARoutesPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := policy.Parse("x.yaml", []byte(`
policies: {slow: {algorithm: pacer, rate: 1/s, max_queue: 9}, day: {algorithm: fixed-window, limit: 9, window: 1d}}
routes: [{key: [{const: all}], policies: [slow, day]}]
`))
		if err != nil {
			t.Fatal(err)
		}
		limiter := headgate.New()
		defer limiter.Close()
		l := filelimit.New(config, limiter)
		h := httplimit.By(l)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		leave, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		for _, ctx := range []context.Context{t.Context(), leave} {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody).WithContext(ctx))
		}
		d, err := l.AllowRequest(httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		if err != nil || d.Delay > 500*time.Millisecond || d.Limits[1].Remaining != 7 {
			t.Errorf("the third request, after the second has left: %+v, %v", d, err)
		}
	})
}
