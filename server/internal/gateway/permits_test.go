package gateway_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

const holding = `
policies:
  renders: {algorithm: concurrency, limit: 2, lease: 1m}
  fair: {algorithm: fair-concurrency, limit: 10, lease: 1m}
  user: {` + hour + `}
  watched: {algorithm: concurrency, limit: 1, lease: 1m, shadow: true}
  pace: {algorithm: pacer, rate: 1/h, max_queue: 5}
routes:
  - {match: {path: /both}, charge: [{policy: user, key: [{header: X-User}]}, {policy: renders, key: [{const: all}]}], refund_on_error: true}
  - {match: {path: /fair}, key: [{header: X-User}], policies: [fair]}
  - {match: {path: /watched}, key: [{const: all}], policies: [user, watched]}
  - {match: {path: /paced}, key: [{const: all}], policies: [renders, pace]}
  - {key: [{const: all}], policies: [renders]}
`

// slowly is a gateway whose upstream ends each response only after the test has sent to leave.
type slowly struct {
	*running

	inside, leave chan bool
	ended         chan answer
}

func startSlowly(t *testing.T, start func(set string) *running) *slowly {
	t.Helper()
	s := &slowly{inside: make(chan bool), leave: make(chan bool), ended: make(chan answer)}
	s.running = start(upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			echoes(w, r)
			return
		}
		_ = http.NewResponseController(w).Flush() // the response has begun
		s.inside <- true
		select {
		case <-s.leave:
		case <-r.Context().Done():
		}
	}))
	return s
}

// enter sends a request, and returns when it has reached the upstream.
func (s *slowly) enter(ctx context.Context, path, user string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("X-User", user)
	go func() { s.ended <- s.do(request) }()
	<-s.inside
}

// free waits until the given number of permits of the policy renders is free.
func (s *slowly) free(want int64) {
	s.t.Helper()
	until(s.t, "permits are free", func() bool { return s.remaining("renders", "all") == want })
}

// TestPermitsLastAsLongAsTheRequest checks that a request holds its permit until its response has ended or its client
// has gone. A denied request holds nothing and is not charged, whichever of its policies denies it.
func TestPermitsLastAsLongAsTheRequest(t *testing.T) {
	g := startSlowly(t, func(url string) *running { return start(t, holding, to(t, url)) })
	ctx, disconnect := context.WithCancel(t.Context())
	g.enter(t.Context(), "/", "")
	g.enter(ctx, "/both", "ann")
	got := g.send("GET", "/both", "X-User: ann")
	if got.status != 429 || got.header.Get("Retry-After") != "1" || !strings.Contains(got.body, `"renders"`) || !strings.Contains(got.body, "const all") {
		t.Errorf("a third request: %+v", got)
	}
	if left := g.remaining("user", "ann"); left != 2 {
		t.Errorf("%d left of 3, want 2: a denied request was charged", left)
	}
	disconnect()
	<-g.ended
	g.free(1)
	for range 2 {
		g.enter(t.Context(), "/both", "ann")
		g.leave <- true
		<-g.ended
		g.free(1)
	}
	if got := g.send("GET", "/both", "X-User: ann"); got.status != 429 || !strings.Contains(got.body, `"user"`) {
		t.Errorf("the other policy denies: %+v", got)
	}
	g.free(1)
	g.leave <- true
	if got := <-g.ended; got.status != 200 || got.header.Get("Ratelimit") == "" {
		t.Errorf("%+v", got)
	}
	g.free(2)
}

// TestWebsocketHoldsItsPermit checks that a websocket holds its permit until it ends, and that Close ends it.
func TestWebsocketHoldsItsPermit(t *testing.T) {
	g := startSlowly(t, func(url string) *running { return start(t, holding, to(t, url)) })
	for i := range 2 {
		c, err := net.Dial("tcp", g.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, handshake)
		g.free(1)
		if i == 1 {
			g.Close()
		}
		c.Close()
		g.free(2)
	}
}

// TestUpstreamAwayReleases checks that if the upstream cannot be reached, the permit is released exactly once and the
// units of the other policy are given back.
func TestUpstreamAwayReleases(t *testing.T) {
	g := start(t, holding, to(t, "http://127.0.0.1:1"))
	for range 5 {
		if got := g.send("GET", "/both", "X-User: ann"); got.status != 502 || g.remaining("renders", "all") != 2 || g.remaining("user", "ann") != 3 {
			t.Errorf("%+v, %d and %d left", got, g.remaining("renders", "all"), g.remaining("user", "ann"))
		}
	}
}

// TestFairPermits checks that a key cannot hold the last permits, and that another key then gets one.
func TestFairPermits(t *testing.T) {
	g := startSlowly(t, func(url string) *running { return start(t, holding, to(t, url)) })
	held := 0
	for ; g.remaining("fair", "flood") > 0; held++ {
		g.enter(t.Context(), "/fair", "flood")
	}
	if got := g.send("GET", "/fair", "X-User: flood"); got.status != 429 || held < 5 || held > 9 {
		t.Errorf("after %d held: %+v", held, got)
	}
	g.enter(t.Context(), "/fair", "bob")
	for range held + 1 {
		g.leave <- true
		<-g.ended
	}
}

// TestShadowPermits checks that a shadow counts the requests in flight, but denies none.
func TestShadowPermits(t *testing.T) {
	g := startSlowly(t, func(url string) *running { return start(t, holding, to(t, url)) })
	held := func(want int64) {
		t.Helper()
		until(t, "permits of the shadow are free", func() bool {
			shadows := g.ask(engine.OpPeek, "watched").Shadows
			return len(shadows) == 1 && shadows[0].Binds().Remaining == 1-want
		})
	}
	g.enter(t.Context(), "/watched", "")
	held(1)
	g.enter(t.Context(), "/watched", "")
	for range 2 {
		g.leave <- true
		<-g.ended
	}
	held(0)
	g.ask(engine.OpAllow, "user") // the last unit
	if got := g.send("GET", "/watched"); got.status != 429 {
		t.Errorf("%+v", got)
	}
	held(0)
}

// ask makes a request for the key "all".
func (r *running) ask(kind engine.Kind, policy string) decide.Response {
	r.t.Helper()
	responses := make([]decide.Response, 1)
	r.service.Do(r.t.Context(), service.Admin, []decide.Request{{Kind: kind, Item: decide.Item{Policy: policy, Key: "all"}, Shadowed: true}}, responses)
	return responses[0]
}

// TestWaitingRequestsHoldPermits checks that a request that a pacer delays holds its permit, and returns it and its
// slot if its client leaves.
func TestWaitingRequestsHoldPermits(t *testing.T) {
	g := startSlowly(t, func(url string) *running { return start(t, holding, to(t, url)) })
	g.enter(t.Context(), "/paced", "")
	g.leave <- true
	<-g.ended
	g.free(2)
	ctx, leave := context.WithCancel(t.Context())
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.address+"/paced", nil)
	go func() { g.ended <- g.do(request) }()
	until(t, "a request waits", func() bool { return g.Stats().Waiting == 1 })
	g.free(1)
	leave()
	<-g.ended
	g.free(2)
	if d := g.peek("pace", "all"); d.Delay > time.Hour {
		t.Errorf("the next one waits %v, want up to 1h", d.Delay)
	}
}

// TestPermitsAreRenewed checks that a permit does not end before its request, even if the store loses it.
func TestPermitsAreRenewed(t *testing.T) {
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{Store: store})
	t.Cleanup(func() { limiter.Close() })
	g := startSlowly(t, func(url string) *running {
		return startOn(t, service.Config{Limiter: limiter}, strings.ReplaceAll(holding, "lease: 1m", "lease: 100ms"), to(t, url))
	})
	g.enter(t.Context(), "/", "")
	for range 3 {
		clock.Advance(70 * time.Millisecond)
		until(t, "the permit is renewed", func() bool { return g.peek("renders", "all").Binds().ResetAfter > 30*time.Millisecond })
	}
	if !g.ask(engine.OpReset, "renders").Found {
		t.Error("nothing to reset")
	}
	g.free(1)
	g.leave <- true
	<-g.ended
	g.free(2)
}

// TestPermitsInAnOutage checks that without a decision a request gets a 503, or passes without a permit if all its
// policies allow that.
func TestPermitsInAnOutage(t *testing.T) {
	limiter := core.New(core.Config{Store: away{}})
	defer limiter.Close()
	g := startOn(t, service.Config{Limiter: limiter}, `
policies: {closed: {algorithm: concurrency, limit: 1, lease: 1m}, open: {algorithm: concurrency, limit: 1, lease: 1m, failure: allow}}
routes:
  - {match: {path: /closed}, key: [{const: all}], policies: [closed, open]}
  - {match: {path: /open}, key: [{const: all}], policies: [open]}
`, to(t, upstream(t, func(http.ResponseWriter, *http.Request) {})))
	for path, want := range map[string]int{"/closed": 503, "/open": 200} {
		if got := g.send("GET", path); got.status != want {
			t.Errorf("%s: %+v, want %d", path, got, want)
		}
	}
}

// stuck is a store that executes every release, but returns an error for it.
type stuck struct{ engine.Store }

func (s stuck) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	s.Store.Do(ctx, ops, results)
	for i := range ops {
		if ops[i].Kind == engine.OpRelease {
			results[i].Err = errors.Join(engine.ErrStoreUnavailable)
		}
	}
}

// TestReleaseFails checks that a request ends even if its permit cannot be released.
func TestReleaseFails(t *testing.T) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{Store: stuck{store}})
	defer limiter.Close()
	g := startOn(t, service.Config{Limiter: limiter}, holding, to(t, upstream(t, func(http.ResponseWriter, *http.Request) {})))
	if got := g.send("GET", "/"); got.status != 200 {
		t.Errorf("%+v", got)
	}
}
