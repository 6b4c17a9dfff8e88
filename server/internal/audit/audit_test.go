package audit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/audit"
	"github.com/headgate/headgate/server/internal/service"
)

// forgetful is a store that loses the spent units at every fourth call while forget is set.
type forgetful struct {
	engine.Store
	forget bool
	calls  int
}

func (f *forgetful) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if f.calls++; f.forget && f.calls%4 == 0 {
		for i := range ops {
			op := ops[i]
			op.Kind = engine.OpReset
			f.Store.Do(ctx, []engine.Op{op}, make([]engine.Answer, 1))
		}
	}
	f.Store.Do(ctx, ops, results)
}

const file = `
policies:
  bucket: {algorithm: token-bucket, rate: 10/s, burst: 3}
  fixed:  {algorithm: fixed-window, limit: 3, window: 1s}
  clock:  {algorithm: fixed-window, limit: 3, window: 1s, align: clock}
  window: {algorithm: sliding-window, limit: 3, window: 1s}
  log:    {algorithm: sliding-log, limit: 3, window: 1s}
  pacer:  {algorithm: pacer, rate: 10/s, max_queue: 3}
  warm:   {algorithm: warm-up, rate: 10/s, burst: 3, warm_up: 1s}
  both:   {all: [bucket, log]}
  fair:   {algorithm: fair-share, rate: 10/s, burst: 10}
  calls:  {algorithm: fixed-window, limit: 100, window: 1h}
  bytes:  {algorithm: fixed-window, limit: 1000, window: 1h, cost: 10}
routes:
  - {key: [{const: k}], policies: [calls, bytes]}
`

type world struct {
	t       *testing.T
	routes  *route.Table
	clock   *headgatetest.Clock
	store   forgetful
	auditor *audit.Auditor
	service *service.Service
}

func newWorld(t *testing.T, sample int) *world {
	t.Helper()
	config, err := policy.Parse("p.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: headgatetest.NewClock(), routes: config.Routes}
	memory, err := memstore.New(memstore.Config{Clock: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	w.store.Store = memory
	if w.auditor, err = audit.New(sample); err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{Store: &w.store})
	t.Cleanup(func() { _, _ = limiter.Close(), memory.Close() })
	w.service = service.New(service.Config{Limiter: limiter, Observer: w.auditor, Policies: config.Policies, AllowWrites: true})
	return w
}

func (w *world) do(kind engine.Kind, name, key string, cost int64) decide.Response {
	w.t.Helper()
	answers := make([]decide.Response, 1)
	w.service.Do(w.t.Context(), service.HTTP, []decide.Request{{Kind: kind, Item: decide.Item{Policy: name, Key: key, Cost: cost, HasCost: true}}}, answers)
	if answers[0].Err != nil {
		w.t.Fatal(answers[0].Err)
	}
	return answers[0]
}

// traffic sends requests with various costs at irregular times.
func (w *world) traffic(names ...string) {
	for i := range 400 {
		for _, name := range names {
			w.do(engine.OpAllow, name, fmt.Sprint("k", i%2), int64(1+i%2))
		}
		w.clock.Advance(time.Duration(i*i%170) * time.Millisecond)
	}
}

func (w *world) figures() map[string]audit.Figures {
	all := map[string]audit.Figures{}
	for _, f := range w.auditor.Figures() {
		all[f.Policy] = f
	}
	return all
}

// TestExactAnswersAreNotOver checks that no over-admission is reported for seven kinds of limits, even after a peek, a
// give, a reset or a reserve.
func TestExactAnswersAreNotOver(t *testing.T) {
	names := []string{"bucket", "fixed", "clock", "window", "log", "pacer", "warm", "both"}
	w := newWorld(t, 1)
	for _, kind := range []engine.Kind{engine.OpPeek, engine.OpGive, engine.OpReset, engine.OpReserve} {
		w.traffic(names...)
		for _, name := range names {
			if name != "warm" || kind != engine.OpGive {
				w.do(kind, name, "k0", 1)
			}
		}
	}
	got := w.figures()
	for _, name := range names[:7] {
		if f := got[name]; f.Over != 0 || f.Bound != 0 || f.Units < 100 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestCostsOfARoute (regression: bug 64) checks that each of a route's policies charges its own cost, here 1 and 10.
func TestCostsOfARoute(t *testing.T) {
	w := newWorld(t, 1)
	match, ok := w.routes.Find(&route.Request{Method: "GET", Path: "/"})
	if !ok {
		t.Fatal("no route")
	}
	for range 100 {
		answers := make([]decide.Response, 1)
		w.service.Do(t.Context(), service.HTTP, []decide.Request{{Kind: engine.OpAllow, Item: decide.Item{Key: match.Items[0].Key}, Route: &match}}, answers)
		if answers[0].Err != nil || !answers[0].Allowed {
			t.Fatalf("%+v", answers[0])
		}
	}
	got := w.figures()
	if f := got["calls"]; f.Units != 100 || f.Over != 0 {
		t.Errorf("calls: %+v", f)
	}
	if f := got["bytes"]; f.Units != 1000 || f.Over != 0 {
		t.Errorf("bytes: %+v", f)
	}
}

// TestItemsAreAuditedByTheirKeys checks that an address shared by many users does not affect the audit of the users'
// keys.
func TestItemsAreAuditedByTheirKeys(t *testing.T) {
	w := newWorld(t, 1)
	w.do(engine.OpAllow, "calls", "address", 70) // makes this limit the binding one
	for i := range 30 {
		answers := make([]decide.Response, 1)
		items := []decide.Item{{Policy: "calls", Key: "address"}, {Policy: "bytes", Key: fmt.Sprint("user", i), Cost: 80, HasCost: true}}
		w.service.Do(t.Context(), service.GRPC, []decide.Request{{Kind: engine.OpAllow, Items: items}}, answers)
		if answers[0].Err != nil || !answers[0].Allowed {
			t.Fatalf("%+v", answers[0])
		}
	}
	got := w.figures()
	for name, units := range map[string]int64{"calls": 100, "bytes": 2400} {
		if f := got[name]; f.Units != units || f.Over != 0 {
			t.Errorf("%s: %+v, want %d units", name, f, units)
		}
	}
}

// TestCountsAreAudited checks that the admitted hits of count operations are audited, and that hits beyond the
// limit are ignored.
func TestCountsAreAudited(t *testing.T) {
	w := newWorld(t, 1)
	for range 10 {
		w.do(engine.OpCount, "clock", "k", 1)
	}
	if f := w.figures()["clock"]; f.Units != 3 || f.Over != 0 {
		t.Errorf("%+v", f)
	}
}

// TestForgottenUnitsAreOver checks that the excess is reported for seven kinds of limits if a store loses units. A
// fixed window that starts with its first request is compared with two windows.
func TestForgottenUnitsAreOver(t *testing.T) {
	names := []string{"bucket", "fixed", "clock", "window", "log", "pacer", "warm"}
	w := newWorld(t, 1)
	w.store.forget = true
	for _, name := range names {
		w.store.calls = 0
		w.traffic(name)
		for range 40 {
			w.do(engine.OpAllow, name, "k0", 1)
		}
	}
	got := w.figures()
	for _, name := range names {
		if f := got[name]; f.Over == 0 || f.Over >= f.Units {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestResetOfAnotherKey checks that no over-admission is reported if a reset or give for one key of a fair-share limit
// lets another key take more. The keys share a counter.
func TestResetOfAnotherKey(t *testing.T) {
	w := newWorld(t, 1)
	for _, kind := range []engine.Kind{engine.OpReset, engine.OpGive} {
		for range 5 {
			w.do(engine.OpAllow, "fair", "k0", 5)
			w.do(kind, "fair", "k1", 5)
		}
	}
	if f := w.figures()["fair"]; f.Units != 50 || f.Over != 0 {
		t.Errorf("%+v", f)
	}
}

// TestSample checks that about the configured share of keys is sampled.
func TestSample(t *testing.T) {
	w := newWorld(t, 10)
	for i := range 5000 {
		w.do(engine.OpAllow, "log", fmt.Sprint("k", i), 1)
	}
	if n := w.figures()["log"].Units; n < 350 || n > 650 {
		t.Errorf("%d of 5000 keys are audited, want about 500", n)
	}
}

// TestStatedBound checks that the figures contain the measured excess and the bound stated in the answers, here from
// prefetched units.
func TestStatedBound(t *testing.T) {
	auditor, err := audit.New(1)
	if err != nil {
		t.Fatal(err)
	}
	limit := rule.SlidingLog(rule.PerHour(2))
	p := &policy.Policy{Name: "log"}
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			answer := decide.Response{
				Requested: p,
				Answer:    engine.Answer{Allowed: true, Granted: 1, AtMicros: 1_700_000_000_000_000, Promise: engine.Promise{Mode: engine.Leased, OvershootMax: 5}},
			}
			answer.SetCharges(policy.Charge{Source: &policy.Source{Policy: "log"}, Charge: engine.Charge{Limit: limit, Cost: 1}})
			auditor.Observe(&service.Observed{Requests: []decide.Request{{Kind: engine.OpAllow, Item: decide.Item{Policy: "log", Key: "k"}}}, Responses: []decide.Response{answer}})
		})
	}
	callers.Wait()
	if got := auditor.Figures(); len(got) != 1 || got[0] != (audit.Figures{Policy: "log", Units: 4, Over: 2, Bound: 5}) {
		t.Errorf("%+v", got)
	}
}
