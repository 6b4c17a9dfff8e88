package headgate_test

import (
	"context"
	"errors"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

func newLimiter(t *testing.T, options ...headgate.Option) (*headgate.Limiter, *headgatetest.Clock) {
	t.Helper()
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return headgate.New(append(options, headgate.WithStore(store))...), clock
}

var five = rule.SlidingLog(rule.PerMinute(5), rule.Named("reply"))

func TestVerbsChargePeekGiveAndReset(t *testing.T) {
	ctx := context.Background()
	l, _ := newLimiter(t)
	check := func(what string, d headgate.Decision, err error, allowed bool, granted, remaining int64) {
		t.Helper()
		if err != nil || d.Allowed != allowed || d.Granted != granted || d.Remaining != remaining {
			t.Errorf("%s: %+v, %v; want allowed=%t granted=%d remaining=%d", what, d, err, allowed, granted, remaining)
		}
	}
	d, err := l.PolicyOf("", five).Allow(ctx, "k")
	check("allow", d, err, true, 1, 4)
	d, err = l.PolicyOf("", five).AllowN(ctx, "k", 2)
	check("allow 2", d, err, true, 2, 2)
	d, err = l.PolicyOf("", five).Peek(ctx, "k", 3)
	check("peek 3", d, err, false, 0, 2)
	d, err = l.PolicyOf("", five).Peek(ctx, "k", 1)
	check("peek", d, err, true, 0, 2)
	d, err = l.PolicyOf("", five).AtMost(ctx, "k", 9)
	check("at most 9", d, err, true, 2, 0)
	d, err = l.PolicyOf("", five).AtMost(ctx, "k", 9)
	check("at most 9 when none is left", d, err, false, 0, 0)
	d, err = l.PolicyOf("", five).Give(ctx, "k", 3)
	check("give 3", d, err, true, 0, 3)
	if found, err := l.PolicyOf("", five).Reset(ctx, "k"); !found || err != nil {
		t.Errorf("reset: %t, %v", found, err)
	}
	if found, err := l.PolicyOf("", five).Reset(ctx, "k"); found || err != nil {
		t.Errorf("reset again: %t, %v", found, err)
	}
	hour := rule.FixedWindow(rule.PerHour(3))
	d, err = l.PolicyOf("", five, hour).Allow(ctx, "k")
	check("allow all", d, err, true, 1, 2)
	if len(d.Limits) != 2 || d.Limits[0].Remaining != 4 || d.Binding.Index != 1 || d.Binding.Name != "2" {
		t.Errorf("all: %+v", d)
	}
	d, err = l.AllowAll(ctx, headgate.Charge{Policy: l.PolicyOf("", five), Key: "k", Units: 4}, headgate.Charge{Policy: l.PolicyOf("", hour), Key: "other", Units: 1})
	check("all of two keys", d, err, true, 4, 0)
	// Two unnamed limits of one algorithm are named by position.
	second := rule.TokenBucket(rule.PerSecond(9))
	d, err = l.PolicyOf("", second, rule.TokenBucket(rule.PerMinute(3))).Allow(ctx, "places")
	check("by place", d, err, true, 1, 2)
	d, err = l.PolicyOf("", second).Allow(ctx, "places")
	check("a single limit has another counter", d, err, true, 1, 8)
	d, err = l.PolicyOf("", engine.NoLimit()).Allow(ctx, "k")
	if err != nil || !d.Allowed || !d.Unlimited || d.Promise.Mode != engine.Exact {
		t.Errorf("no limit: %+v, %v", d, err)
	}
}

// A denial is a decision without an error. Its method Err returns an error for it.
func TestDenialIsADecision(t *testing.T) {
	l, _ := newLimiter(t)
	d, err := l.PolicyOf("", five).AllowN(context.Background(), "k", 5)
	if err != nil || d.Err() != nil {
		t.Fatalf("%v, %v", err, d.Err())
	}
	d, err = l.PolicyOf("", five).Allow(context.Background(), "k")
	if err != nil {
		t.Fatal(err)
	}
	var denied *headgate.DeniedError
	if !errors.As(d.Err(), &denied) || !errors.Is(d.Err(), headgate.ErrDenied) || errors.Is(d.Err(), headgate.ErrInvalid) {
		t.Fatalf("%v is not a DeniedError", d.Err())
	}
	if got := denied.Error(); got != `headgate: denied by "reply": 5/1m: retry after 1m0s` {
		t.Error(got)
	}
	d, err = l.PolicyOf("", five).AllowN(context.Background(), "k", 6)
	if err != nil || d.Err() == nil || d.Err().Error() != `headgate: denied by "reply": 5/1m: this can never pass` {
		t.Errorf("%v, %v", err, d.Err())
	}
	leaky := rule.TokenBucket(rule.Per(30, time.Minute), rule.Burst(15))
	if d, err = l.PolicyOf("", leaky).AllowN(context.Background(), "k", 4); err != nil || d.Limit-d.Remaining != 4 {
		t.Errorf("level %d, %v, want 4", d.Limit-d.Remaining, err)
	}
}

// Each invalid request returns an error that names the field, and changes nothing (regression: bugs 5, 26, 29).
func TestBadRequestsNameTheFieldAndChangeNothing(t *testing.T) {
	l, _ := newLimiter(t)
	held := rule.Concurrency(2)
	one, fair := engine.Charge{Limit: five, Cost: 1}, rule.FairShare(rule.PerSecond(10))
	for want, op := range map[string]engine.Op{
		`key is ""; accepted: 1 to 1024 bytes`:                    engine.Single(engine.OpAllow, "", five, 1),
		"key is 1025 bytes; accepted: 1 to 1024 bytes":            engine.Single(engine.OpAllow, strings.Repeat("k", 1025), five, 1),
		"cost is -1; accepted: 0 or more":                         engine.Single(engine.OpAllow, "k", five, -1),
		"limit is not built;":                                     engine.Single(engine.OpAllow, "k", engine.Limit{}, 1),
		"limits is 0; accepted: 1 to 32":                          {Key: "k"},
		"limits is 33;":                                           {Key: "k", Charges: make([]engine.Charge, 33)},
		"limits is sliding-log reply twice;":                      {Key: "k", Charges: []engine.Charge{one, one}},
		"fair-share default of two keys; accepted: one key of a":  {Key: "k", Charges: []engine.Charge{{Limit: fair, Cost: 1}, {Limit: fair, Cost: 1, Key: "l"}}},
		"acquire and release on a concurrency limit, not allow":   engine.Single(engine.OpAllow, "k", held, 1),
		"acquire and release on a concurrency limit, not give":    engine.Single(engine.OpGive, "k", held, 1),
		"limit is sliding-log; accepted: concurrency":             {Kind: engine.OpAcquire, Key: "k", ID: "x", Charges: []engine.Charge{one}},
		`id is ""; accepted: 1 to 64 bytes`:                       {Kind: engine.OpRenew, Key: "k", Charges: []engine.Charge{{Limit: held}}},
		"cost is 0; accepted: 1 or more, for acquire":             {Kind: engine.OpAcquire, Key: "k", ID: "x", Charges: []engine.Charge{{Limit: held}}},
		"kind is unknown;":                                        {Kind: 99, Key: "k", Charges: []engine.Charge{one}},
		"cost is 2; accepted: one cost for all limits of at most": {Kind: engine.OpAtMost, Key: "k", Charges: []engine.Charge{one, {Limit: rule.FixedWindow(rule.PerHour(3)), Cost: 2}}},
	} {
		r := l.Core().Decide(context.Background(), op)[0]
		if !errors.Is(r.Err, headgate.ErrInvalid) || !strings.Contains(r.Err.Error(), want) {
			t.Errorf("%v, want %s", r.Err, want)
		}
	}
	results := l.Core().Decide(context.Background(), make([]engine.Op, engine.MaxOps+1)...)
	if !errors.Is(results[0].Err, headgate.ErrInvalid) || !strings.Contains(results[0].Err.Error(), "operations is 1001") {
		t.Errorf("1001 operations: %v", results[0].Err)
	}
	if d, err := l.PolicyOf("", five).Peek(context.Background(), "k", 1); err != nil || d.Remaining != 5 {
		t.Errorf("a bad request was charged: %+v, %v", d, err)
	}
}

// A policy or call without limits, and a request that uses another limiter's policy, return an error that says so.
func TestRequestsWithoutLimitsAreErrors(t *testing.T) {
	ctx := context.Background()
	l, _ := newLimiter(t)
	other, _ := newLimiter(t)
	foreign := other.PolicyOf("p", five)
	all := func(charges ...headgate.Charge) error {
		_, err := l.AllowAll(ctx, charges...)
		return err
	}
	_, empty := l.Policy("p").Allow(ctx, "k")
	_, nameless := l.PolicyOf("a b", five).Allow(ctx, "k")
	for want, err := range map[string]error{
		"limits is 0; accepted: 1 to 32":                       empty,
		`name is "a b"; accepted: 1 to 64`:                     nameless,
		"charges.0: policy is not set, or of another limiter;": all(headgate.Charge{Policy: foreign, Key: "k", Units: 1}),
		"headgate: policy is not set, or of another limiter;":  l.AllowEach(ctx, headgate.Charge{Key: "k"})[0].Err,
		"charges is 0; accepted: 1 to 32 in one request":       all(),
	} {
		if !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if d, err := l.PolicyOf("", five).Allow(ctx, "k"); err != nil || d.Remaining != 4 {
		t.Errorf("afterwards: %+v, %v", d, err)
	}
}

// A limiter with a nil store returns errors, even for new policies, and never decides in memory.
func TestNilStore(t *testing.T) {
	for _, l := range []*headgate.Limiter{
		headgate.New(headgate.WithStore(nil)),
		headgate.New(headgate.WithStore((*memstore.Store)(nil))), // as after an ignored error of memstore.New
	} {
		p := l.PolicyOf("", five)
		d, err := p.Allow(context.Background(), "k")
		if d.Allowed || !errors.Is(err, headgate.ErrInvalid) || !errors.Is(p.Err(), headgate.ErrInvalid) {
			t.Errorf("%+v, %v, %v", d, err, p.Err())
		}
		if err := l.Close(); !errors.Is(err, headgate.ErrInvalid) {
			t.Error(err)
		}
	}
}

// A decision and the error of a denial name the policy of the binding limit.
func TestBindingPolicy(t *testing.T) {
	ctx := context.Background()
	l, _ := newLimiter(t)
	perIP := l.PolicyOf("per-ip", rule.TokenBucket(rule.PerSecond(9)), rule.FixedWindow(rule.PerHour(50)))
	perUser := l.PolicyOf("per-user", rule.FixedWindow(rule.PerHour(1)))
	for want, charge := range map[string]headgate.Charge{"per-ip": {Policy: perIP, Key: "a", Units: 9}, "per-user": {Policy: perUser, Key: "u", Units: 1}} {
		if r := l.AllowEach(ctx, charge)[0]; r.Err != nil || r.Decision.Binding.Policy != want {
			t.Errorf("%+v, %v; want %s", r.Decision.Binding, r.Err, want)
		}
	}
	d, err := l.AllowAll(ctx, headgate.Charge{Policy: perIP, Key: "b", Units: 1}, headgate.Charge{Policy: perUser, Key: "u", Units: 1})
	if err != nil || d.Binding.Policy != "per-user" || d.Binding.Index != 2 {
		t.Errorf("%+v, %v", d.Binding, err)
	}
	if got := d.Err().Error(); got != `headgate: denied by "per-user": 1/1h: retry after 1h0m0s` {
		t.Error(got)
	}
	if d, err = perIP.AllowN(ctx, "a", 9); err != nil || d.Err().Error() != `headgate: denied by "per-ip.1": 9/s: retry after 1s` {
		t.Errorf("%v, %v", err, d.Err())
	}
	sync, never := l.SemaphoreOf("sync", rule.Concurrency(1)), l.PolicyOf("never", engine.DenyAll())
	if _, _, err := sync.TryAcquire(ctx, "a", 1); err != nil {
		t.Error(err)
	}
	if _, d, err = sync.TryAcquire(ctx, "a", 1); err != nil || d.Err().Error() != `headgate: denied by "sync": 1 at once: retry after 1m0s` {
		t.Errorf("%v, %v", err, d.Err())
	}
	if d, err = never.Allow(ctx, "a"); err != nil || d.Err().Error() != `headgate: denied by "never": nothing: this can never pass` {
		t.Errorf("%v, %v", err, d.Err())
	}
}

type observed struct {
	mu  sync.Mutex
	ops []string
}

func (o *observed) Observe(_ context.Context, op *engine.Op, r *engine.Answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ops = append(o.ops, op.Kind.String()+" "+op.Space+" "+op.Key+" "+map[bool]string{true: "allowed", false: "denied"}[r.Allowed])
}

func TestObserverSeesSpaceAndCloseIsIdempotent(t *testing.T) {
	o := &observed{}
	l, _ := newLimiter(t, headgate.WithCore(func(c *core.Config) { c.Observer = o.Observe }), headgate.WithSpace("shop"))
	if _, err := l.PolicyOf("", five).AllowN(context.Background(), "k", 5); err != nil {
		t.Fatal(err)
	}
	if _, err := l.PolicyOf("", five).Allow(context.Background(), "k"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(o.ops, "; "); got != "allow shop k allowed; allow shop k denied" {
		t.Errorf("observed %s", got)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := l.PolicyOf("", five).Allow(context.Background(), "k"); !errors.Is(err, headgate.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

// recorded keeps the results that an observer received.
type recorded []engine.Answer

func (o *recorded) Observe(_ context.Context, _ *engine.Op, r *engine.Answer) {
	*o = append(*o, *r)
}

// Regression: bug 48. Result fields that do not apply to the kind of operation are zero, even if the pooled buffers
// contained other values.
func TestObserverSeesNoFieldOfEarlierCalls(t *testing.T) {
	var seen recorded
	l, _ := newLimiter(t, headgate.WithCore(func(c *core.Config) { c.Observer = seen.Observe }))
	ctx := context.Background()
	for range 20 { // the pool may keep the buffers or drop them
		permit, _, err := l.SemaphoreOf("", rule.Concurrency(2)).TryAcquire(ctx, "held", 1)
		if err != nil {
			t.Fatal(err)
		}
		seen = nil
		if _, err := l.PolicyOf("", five).Allow(ctx, "k"); err != nil {
			t.Fatal(err)
		}
		if _, err := l.PolicyOf("", five).Reset(ctx, "another"); err != nil {
			t.Fatal(err)
		}
		if err := permit.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := l.PolicyOf("", five).Allow(ctx, ""); err == nil {
			t.Fatal("an empty key passed")
		}
		if !reflect.DeepEqual(seen[1], engine.Answer{}) {
			t.Errorf("the observer saw a reset that found nothing as %+v", seen[1])
		}
		if d := seen[2]; d.Binds().Limit != 2 || d.Granted != 0 || d.Binds().Remaining > 2 {
			t.Errorf("the observer saw a release as %+v", d)
		}
		if seen[3].Err == nil || seen[3].Allowed {
			t.Errorf("the observer saw an error as %+v", seen[3])
		}
	}
}

// Regression: bug 42. A permit is renewed and released under the key that it was acquired for, even if the caller has
// overwritten that key's bytes.
func TestPermitKeepsACopyOfItsKey(t *testing.T) {
	l, _ := newLimiter(t)
	limit := rule.Concurrency(1)
	buffer := []byte("alice")
	permit, _, err := l.SemaphoreOf("", limit).TryAcquire(context.Background(), unsafe.String(&buffer[0], len(buffer)), 1)
	if err != nil {
		t.Fatal(err)
	}
	copy(buffer, "bobby")
	if err := permit.Renew(context.Background()); err != nil {
		t.Errorf("renewed: %v", err)
	}
	if err := permit.Release(context.Background()); err != nil {
		t.Errorf("released: %v", err)
	}
	if d, err := l.PolicyOf("", limit).Peek(context.Background(), "alice", 1); err != nil || d.Remaining != 1 {
		t.Errorf("%d left, %v; want 1", d.Remaining, err)
	}
}

// Hold renews a permit at a third of its lease time until it is released. Losing the permit cancels the holder's
// context.
func TestHoldRenewsUntilReleasedOrLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memstore.New(memstore.Config{Clock: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		l := headgate.New(headgate.WithStore(store))
		limit := rule.Concurrency(1, rule.LeaseTime(30*time.Second))
		ctx := context.Background()
		permit, d, err := l.SemaphoreOf("", limit).TryAcquire(ctx, "k", 1)
		if err != nil || permit == nil || d.Remaining != 0 {
			t.Fatalf("%+v, %+v, %v", permit, d, err)
		}
		held := permit.Hold(ctx)
		time.Sleep(5 * time.Minute)
		if other, d, err := l.SemaphoreOf("", limit).TryAcquire(ctx, "k", 1); err != nil || other != nil || d.Allowed || held.Err() != nil {
			t.Fatalf("after 5 minutes: %+v, %+v, %v; the holder: %v", other, d, err, held.Err())
		}
		if err := permit.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(context.Cause(held), context.Canceled) || permit.Hold(ctx).Err() == nil {
			t.Errorf("work goes on after the release: %v", context.Cause(held))
		}
		if err := permit.Renew(ctx); !errors.Is(err, headgate.ErrEnded) {
			t.Errorf("renewed after release: %v", err)
		}

		permit, _, err = l.SemaphoreOf("", limit).TryAcquire(ctx, "k", 1)
		if err != nil || permit == nil {
			t.Fatalf("free again: %v", err)
		}
		held = permit.Hold(ctx)
		if found, err := l.PolicyOf("", limit).Reset(ctx, "k"); !found || err != nil {
			t.Fatal(found, err)
		}
		<-held.Done()
		if !errors.Is(context.Cause(held), headgate.ErrEnded) {
			t.Errorf("the lost permit ends work with cause %v", context.Cause(held))
		}
	})
}

// The root module imports only the standard library, and engine/algo neither reads the clock nor the environment.
func TestRootImportsStandardLibraryOnly(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(path, "github.com/headgate/headgate") {
			t.Errorf("the root module imports %s; it is for the standard library only", path)
		}
	}
	require, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil || !strings.Contains(string(require), `"Require": null`) {
		t.Errorf("go.mod has a require, or cannot be read: %v", err)
	}
	for _, call := range []string{"time.Now", "time.Since", "time.Sleep", "os.Getenv"} {
		if out, err := exec.Command("grep", "-rlF", "--include=*.go", "--exclude=*_test.go", call, "engine/algo").Output(); err == nil {
			t.Errorf("engine/algo calls %s in %s", call, out)
		}
	}
}

// Dependencies point down. Package engine imports no package of the project except engine/algo. Stores import only
// engine; package redisurl also imports the package for input errors. Layers also import the memory store, which
// decides for them during an outage. Package core imports engine, its default store, the queues and the renewal of
// leases. The root package imports core and engine.
func TestDirections(t *testing.T) {
	const ours = "github.com/headgate/headgate"
	// For each directory, the project's packages that it may import, including their subpackages.
	allowed := map[string][]string{
		"":           {"/core", "/engine"},
		"core":       {"/engine", "/memstore", "/internal/lease", "/internal/queue"},
		"engine":     {"/engine/algo"},
		"memstore":   {"/engine"},
		"redisstore": {"/engine", "/internal/format"},
		"layer":      {"/engine", "/layer", "/memstore"},
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		directory, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(words[0], ours), "/"), "/")
		may, guarded := allowed[directory]
		for _, path := range words[1:] {
			path, isOurs := strings.CutPrefix(path, ours)
			within := directory != "" && strings.HasPrefix(path+"/", "/"+directory+"/")
			if isOurs && guarded && !within && !slices.ContainsFunc(may, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") }) {
				t.Errorf("%s imports %s; it may import %v", words[0], path, may)
			}
		}
	}
}
