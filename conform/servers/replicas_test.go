package servers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/conform/testbed"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/server/daemon"
)

// replicated is a deployment whose primaries have replicas.
type replicated struct {
	testbed.Deployment
	replicas func() []*redistest.Server
	count    int // per primary
}

func replicatedOf(t *testing.T) map[string]func() replicated {
	t.Helper()
	return map[string]func() replicated{
		"redis": func() replicated {
			primary, replica := redistest.Replicated(t, redistest.Redis)
			return replicated{testbed.OfServer(primary), func() []*redistest.Server { return []*redistest.Server{replica} }, 1}
		},
		"sentinel": func() replicated {
			s := redistest.Sentinel(t, redistest.Redis)
			others := func() []*redistest.Server {
				return slices.DeleteFunc(slices.Clone(s.Servers()), func(each *redistest.Server) bool { return each == s.Primary() })
			}
			return replicated{testbed.OfSentinel(s), others, 2}
		},
		"cluster": func() replicated {
			c := redistest.Cluster(t, redistest.Redis)
			return replicated{testbed.OfCluster(c), func() []*redistest.Server { return c.Servers[3:] }, 1}
		},
	}
}

// stopped runs a function while all replicas are paused.
func (r *replicated) stopped(during func()) {
	replicas := r.replicas()
	for _, s := range replicas {
		s.Pause()
	}
	defer func() {
		for _, s := range replicas {
			s.Resume()
		}
	}()
	during()
}

// A request is allowed once the replicas have its charge. If they do not answer, the result is an error within the
// stated time, and the unit stays charged. The test covers each deployment, and each client on one deployment.
// TestReplicasWhileASlotMoves tests both clients on a Cluster.
func TestReplicas(t *testing.T) {
	t.Parallel()
	for name, start := range replicatedOf(t) {
		for _, client := range testbed.Adapters {
			if turn := map[string]string{"sentinel": "goredis", "cluster": "rueidis"}[name]; turn != "" && turn != client.Name && !*testbed.EveryClient {
				continue
			}
			t.Run(name+"/"+client.Name, func(t *testing.T) {
				t.Parallel()
				r := start()
				r.Deployment = testbed.Guard(t, r.Deployment) // WAIT requires a separate right
				store := client.Open(t, r.Deployment, redisstore.Config{})
				limiter := headgate.New(headgate.WithStore(store), headgate.WithReplicas(r.count, 2*time.Second))
				defer limiter.Close()
				waiting, all := operate.Policy(limiter, "api", rule.TokenBucket(rule.PerHour(10))), []engine.Limit{rule.TokenBucket(rule.PerHour(10)), rule.SlidingLog(rule.PerHour(9))}
				several := operate.Policy(limiter, "several", all...)
				isAllowed(t, waiting, 9)
				isAllowed(t, several, 8)
				r.stopped(func() {
					for _, p := range []*headgate.Policy{waiting, several} {
						began := time.Now()
						_, err := p.Allow(t.Context(), "k")
						if took := time.Since(began); took < 1990*time.Millisecond || took > 20*time.Second {
							t.Errorf("answered after %s, want 2s", took)
						}
						if !errors.Is(err, headgate.ErrNotReplicated) || !errors.Is(err, headgate.ErrOutcomeUnknown) || !errors.Is(err, headgate.ErrStoreUnavailable) {
							t.Errorf("no replica answers: %v", err)
						}
					}
					peeked, err := waiting.Peek(t.Context(), "k", 1)
					if err != nil || peeked.Remaining != 8 {
						t.Errorf("a peek waits for none: %+v, %v", peeked.Remaining, err)
					}
				})
				for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
					if _, err := waiting.Allow(t.Context(), "other"); err == nil {
						break
					} else if time.Now().After(end) {
						t.Fatalf("the replicas are back: %v", err)
					}
				}
				isAllowed(t, waiting, 7)
			})
		}
	}
}

// isAllowed takes one unit, and checks that it passes and leaves the given number of units.
func isAllowed(t *testing.T, p *headgate.Policy, remaining int64) {
	t.Helper()
	if d, err := p.Allow(t.Context(), "k"); err != nil || !d.Allowed || d.Remaining != remaining || d.Promise.OvershootMax != 0 {
		t.Errorf("%s: %+v, %v, want %d remaining", p.Name(), d, err, remaining)
	}
}

// The wait for replicas ends before the caller's deadline, and the error says that the unit is charged. The same
// happens if a caller requires more replicas than exist.
func TestReplicasWithinTheDeadline(t *testing.T) {
	t.Parallel()
	r := replicatedOf(t)["redis"]()
	for _, client := range testbed.Adapters {
		store := client.Open(t, r.Deployment, redisstore.Config{Prefix: testbed.Prefix()})
		limiter := headgate.New(headgate.WithStore(store), headgate.WithReplicas(2, 10*time.Second))
		// A busy machine can take longer than the margin before the deadline. The margin grows with the deadline.
		counted := func() int64 { return store.Stats().Errors["not_replicated"] }
		before := int64(0)
		for _, within := range []time.Duration{3 * time.Second, 8 * time.Second} {
			before = counted()
			ctx, cancel := context.WithTimeout(t.Context(), within)
			_, err := operate.Policy(limiter, "", testbed.Hourly).Allow(ctx, "k")
			late := ctx.Err()
			cancel()
			if errors.Is(err, headgate.ErrNotReplicated) && late == nil {
				break
			}
			if late == nil || within == 8*time.Second {
				t.Errorf("%s: one replica of two: %v, %v", client.Name, err, late)
			}
		}
		if n := counted() - before; n != 1 {
			t.Errorf("%s: %d errors are counted", client.Name, n)
		}
	}
	// A program's own connection implements only the four methods of a Conn.
	store, err := redisstore.New(struct{ redisstore.Conn }{testbed.ConnOf(t, r.Goredis())}, redisstore.Config{Prefix: testbed.Prefix()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	limiter := headgate.New(headgate.WithStore(store), headgate.WithReplicas(1, time.Second))
	if _, err := operate.Policy(limiter, "", testbed.Hourly).Allow(t.Context(), "k"); !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), "WaitConn") {
		t.Errorf("on a connection that cannot wait: %v", err)
	}
	if d, err := operate.Policy(headgate.New(headgate.WithStore(store)), "", testbed.Hourly).Allow(t.Context(), "k"); err != nil || d.Remaining != testbed.Hourly.Capacity()-1 {
		t.Errorf("what waits for none is decided, and the other was not charged: %+v, %v", d, err)
	}
	limiter = headgate.New(headgate.WithStore(store), headgate.WithReplicas(0, time.Second))
	if _, err := operate.Policy(limiter, "", testbed.Hourly).Allow(t.Context(), "k"); !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("no replicas: %v", err)
	}
}

// Operations that do not wait for replicas are not queued after operations that do, either in group commit or on the
// connections.
func TestReplicasDelayNoOther(t *testing.T) {
	t.Parallel()
	r := replicatedOf(t)["redis"]()
	store, err := batch.New(testbed.OpenRueidis(t, r.Deployment, redisstore.Config{}), batch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	waiting := headgate.New(headgate.WithStore(store), headgate.WithReplicas(1, 5*time.Second))
	others := headgate.New(headgate.WithStore(store))
	limit := rule.TokenBucket(rule.PerHour(1_000_000))
	r.stopped(func() {
		const callers = 20
		ended := make(chan error, callers)
		for range callers {
			go func() {
				_, err := operate.Policy(waiting, "", limit).Allow(context.Background(), "k")
				ended <- err
			}()
		}
		took, began := time.Duration(0), time.Now()
		for time.Since(began) < 500*time.Millisecond {
			sent := time.Now()
			if _, err := operate.Policy(others, "", limit).Allow(t.Context(), "k"); err != nil {
				t.Error(err)
			}
			took = max(took, time.Since(sent))
		}
		if took > 4*time.Second { // queued after an operation that waits, it would take five seconds
			t.Errorf("another request took %s", took)
		}
		for range callers {
			if err := <-ended; !errors.Is(err, headgate.ErrNotReplicated) {
				t.Errorf("no replica answers: %v", err)
			}
		}
	})
}

// On a Cluster, limits on several slots are charged to all these slots, even if the replicas of one slot do not
// answer. A request that passes by its failure mode has been charged.
func TestReplicasOnSeveralSlots(t *testing.T) {
	t.Parallel()
	r := replicatedOf(t)["cluster"]()
	store := testbed.OpenRueidis(t, r.Deployment, redisstore.Config{})
	op := engine.Op{Space: "s", Charges: []engine.Charge{{Key: "a", Limit: testbed.Hourly, Cost: 1}, {Key: "b", Limit: testbed.Hourly, Cost: 1}, {Key: "c", Limit: testbed.Hourly, Cost: 1}}}
	op.Replicas, _ = engine.NewReplicas(1, 5*time.Second)
	results := make([]engine.Result, 1)
	if store.Do(t.Context(), []engine.Op{op}, results); results[0].Err != nil || !results[0].Outcome.Allowed {
		t.Fatal(results[0])
	}
	op.Replicas, _ = engine.NewReplicas(1, 100*time.Millisecond)
	r.stopped(func() { store.Do(t.Context(), []engine.Op{op}, results) })
	if !errors.Is(results[0].Err, engine.ErrNotReplicated) {
		t.Errorf("no replica answers: %v", results[0].Err)
	}
	for _, key := range []string{"a", "b", "c"} {
		peek := engine.Single(engine.OpPeek, key, testbed.Hourly, 1)
		peek.Space, results[0] = "s", engine.Result{}
		store.Do(t.Context(), []engine.Op{peek}, results)
		if left := testbed.Hourly.Capacity() - results[0].Outcome.Remaining; results[0].Err != nil || left != 2 {
			t.Errorf("key %s: %d units are charged, want 2: %v", key, left, results[0].Err)
		}
	}
}

// While a slot moves, each charge is made exactly once, but it is not known how many replicas have received it. After
// the move, this is known again.
func TestReplicasWhileASlotMoves(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, redistest.Redis)
	for _, client := range testbed.Adapters {
		space := "moves-" + client.Name
		store := client.Open(t, testbed.OfCluster(c), redisstore.Config{})
		op := engine.Single(engine.OpAllow, "k", testbed.Hourly, 1)
		op.Space = space
		op.Replicas, _ = engine.NewReplicas(1, 2*time.Second)
		charge := func() error {
			results := make([]engine.Result, 1)
			store.Do(t.Context(), []engine.Op{op}, results)
			if err := results[0].Err; err != nil && !errors.Is(err, engine.ErrNotReplicated) {
				t.Errorf("%s: %v", client.Name, err)
			}
			return results[0].Err
		}
		if err := charge(); err != nil {
			t.Error(err)
		}
		move := c.Migrate(store.Keys(&op)[0])
		_ = charge()
		move.MoveKeys(100)
		_ = charge()
		move.Settle()
		charges := int64(3)
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if charges++; charge() == nil {
				break
			}
		}
		op.Kind = engine.OpPeek
		results := make([]engine.Result, 1)
		store.Do(t.Context(), []engine.Op{op}, results)
		if spent := testbed.Hourly.Capacity() - results[0].Outcome.Remaining; spent != charges || results[0].Err != nil {
			t.Errorf("%s: %d units are charged in %d requests: %v", client.Name, spent, charges, results[0].Err)
		}
	}
}

// While replicas do not confirm a charge, the failure mode of a policy that waits for them determines the answer: an
// error that describes the charge, the share's answer, or an allowed decision. The unit is charged in any case.
func TestServerWaitsForReplicas(t *testing.T) {
	t.Parallel()
	r := replicatedOf(t)["redis"]()
	file := `policies:
  strict: {algorithm: fixed-window, limit: 10, window: 1h, failure: deny, replicas: 1, replica_timeout: 2s}
  shared: {algorithm: fixed-window, limit: 10, window: 1s, failure: local, replicas: 1, replica_timeout: 2s}
  open:   {algorithm: fixed-window, limit: 10, window: 1h, failure: allow, replicas: 1, replica_timeout: 2s}
  jobs:   {algorithm: concurrency, limit: 3, failure: deny, replicas: 1, replica_timeout: 2s}
`
	config := filepath.Join(t.TempDir(), "policies.yaml")
	if err := os.WriteFile(config, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	base, err := policy.Parse(config, []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	c := daemon.Config{
		Store: r.URL, ConfigFile: config, Base: base, Deadline: 5 * time.Second,
		StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 2}},
	}
	w := openWeb(t, c)
	take := func(policy string, status int, has string) {
		t.Helper()
		got, body := w.status("/v1/allow", `{"policy":"`+policy+`","key":"k"}`)
		if got != status || !strings.Contains(body, has) {
			t.Errorf("%s: %d %s, want %d with %s", policy, got, body, status, has)
		}
	}
	for _, policy := range []string{"strict", "shared", "open"} {
		take(policy, 200, `"mode":"exact"`)
	}
	r.stopped(func() {
		take("strict", 503, "charged, and the store could not confirm it: not_replicated")
		w.until(200, "/v1/allow", `{"policy":"shared","key":"k"}`) // by then the share has refilled
		if _, body := w.status("/v1/peek", `{"policy":"shared","key":"k"}`); !strings.Contains(body, `"mode":"exact"`) {
			t.Errorf("a peek needs no replica: %s", body)
		}
		take("open", 200, `"mode":"fallback","overshoot_max":null`)
		if got, body := w.status("/v1/acquire", `{"policy":"jobs","key":"k"}`); got != 503 || !strings.Contains(body, "not_replicated") {
			t.Errorf("a permit: %d %s", got, body)
		}
		if _, body := w.status("/v1/peek", `{"policy":"jobs","key":"k"}`); !strings.Contains(body, `"remaining":3`) {
			t.Errorf("the permit is not given up: %s", body)
		}
	})
	w.until(200, "/v1/allow", `{"policy":"strict","key":"other"}`)
	_, body := w.status("/v1/peek", `{"policy":"strict","key":"k"}`)
	if !strings.Contains(body, `"remaining":8`) {
		t.Errorf("two units are charged: %s", body)
	}
	c.Store = open.Memory
	if _, err := daemon.New(t.Context(), c); err == nil || !strings.Contains(err.Error(), "policies.jobs.replicas") {
		t.Errorf("in memory: %v", err)
	}
}
