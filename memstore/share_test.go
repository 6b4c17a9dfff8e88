package memstore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// allowIn charges one unit to a key in a namespace. It reports false if there is no room for the key.
func allowIn(t *testing.T, s engine.Store, space, key string, limit engine.Limit) bool {
	t.Helper()
	op := engine.Single(engine.OpAllow, key, limit, 1)
	op.Space = space
	results := make([]engine.Answer, 1)
	s.Do(t.Context(), []engine.Op{op}, results)
	if o := &results[0]; results[0].Err != nil || o.Full && o.Allowed {
		t.Fatalf("%+v", results[0])
	}
	return !results[0].Full
}

// TestShareOfNameSpace checks that a namespace with a bound cannot take more keys, whatever its limits. Expired keys and
// resets make room in the bounded namespace.
func TestShareOfNameSpace(t *testing.T) {
	clock := headgatetest.NewClock()
	s, err := memstore.New(memstore.Config{MaxKeys: 100, MaxKeysOf: map[string]int{"inline": 50}, Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	admitted, hundred := 0, rule.FixedWindow(rule.Per(1, 100*365*24*time.Hour))
	for i := range 200 {
		limit := rule.FixedWindow(rule.Per(int64(1+i%7), 100*365*24*time.Hour))
		if allowIn(t, s, "inline", fmt.Sprint("k", i), limit) {
			admitted++
		}
	}
	if admitted != 50 {
		t.Errorf("%d keys, %+v, want 50", admitted, s.Stats())
	}
	for i := range 50 {
		if !allowIn(t, s, "policy:api", fmt.Sprint("k", i), rule.TokenBucket(rule.PerSecond(5))) {
			t.Fatal("the share fills the store")
		}
	}
	reset := engine.Single(engine.OpReset, "k0", hundred, 0)
	reset.Space = "inline"
	s.Do(t.Context(), []engine.Op{reset}, make([]engine.Answer, 1))
	if !allowIn(t, s, "inline", "after the reset", hundred) {
		t.Error("no room after a reset")
	}
	if allowIn(t, s, "inline", "one more", hundred) {
		t.Error("one more")
	}
	clock.Advance(101 * 365 * 24 * time.Hour)
	for i := range 50 {
		if !allowIn(t, s, "inline", fmt.Sprint("later", i), hundred) {
			t.Fatal("no room after all have expired")
		}
	}
	if _, err := memstore.New(memstore.Config{MaxKeysOf: map[string]int{"inline": 0}}); err == nil {
		t.Error("a share of 0 keys is accepted")
	}
}

// TestOnePolicyCannotFillTheStore checks that made-up keys under one policy leave the others their parts, whether these
// have had keys before or not, and that a policy alone has the whole store (regression: bug 108).
func TestOnePolicyCannotFillTheStore(t *testing.T) {
	s, err := memstore.New(memstore.Config{MaxKeys: 1000, Clock: headgatetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.KeepRoom("policy:search", "policy:sign-in", "policy:api", "policy:new")
	day := rule.FixedWindow(rule.PerDay(5))
	fill := func(space string, keys int) (admitted int) {
		for i := range keys {
			if allowIn(t, s, space, fmt.Sprint("k", i), day) {
				admitted++
			}
		}
		return admitted
	}
	if n := fill("policy:api", 100); n != 100 {
		t.Fatalf("%d of 100 keys", n)
	}
	// A part is 1000/2/4 = 125 keys, and 500 are shared.
	if n := fill("policy:search", 5000); n != 625 {
		t.Errorf("the flood has %d keys, want its part and what is shared, 625", n)
	}
	for space, more := range map[string]int{"policy:api": 125, "policy:sign-in": 125, "policy:new": 125} {
		if n := fill(space, 5000); n != more {
			t.Errorf("%s has %d keys, want its part, %d", space, n, more)
		}
	}
	if st := s.Stats(); st.Keys != 1000 || st.Shared != 500 || st.MostShared != 500 {
		t.Errorf("%+v", st)
	}
	alone, err := memstore.New(memstore.Config{MaxKeys: 1000, Clock: headgatetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	admitted := 0
	for i := range 2000 {
		if allowIn(t, alone, "policy:api", fmt.Sprint("k", i), day) {
			admitted++
		}
	}
	if admitted != 1000 {
		t.Errorf("a policy alone has %d keys of 1000", admitted)
	}
	if allowIn(t, alone, "policy:late", "k", day) {
		t.Error("a policy that comes when the store is full takes it beyond its bound")
	}
}

// TestFullStoreDeniesInLists checks that a list is denied as a whole if one of its limits finds no room, and charges
// nothing.
func TestFullStoreDeniesInLists(t *testing.T) {
	s, err := memstore.New(memstore.Config{MaxKeys: 2, Clock: headgatetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	day := rule.FixedWindow(rule.PerDay(5))
	allowIn(t, s, "a", "known", day)
	allowIn(t, s, "a", "other", day)
	op := engine.Op{Kind: engine.OpReserve, Space: "a", Key: "known", ID: "r", Charges: []engine.Charge{{Limit: day, Cost: 1}, {Limit: day, Cost: 1, Key: "new"}}}
	results := make([]engine.Answer, 1)
	s.Do(t.Context(), []engine.Op{op}, results)
	o := &results[0]
	if results[0].Err != nil || o.Allowed || !o.Full || o.Binds().RetryAfter != time.Second || o.Of(o.Binding).RetryAfter != time.Second || o.Of(0).Remaining != 4 {
		t.Errorf("%+v", results[0])
	}
}

// TestShareIsKeptByManyCallers checks that concurrent callers never exceed the share, and that no part of the share
// is lost.
func TestShareIsKeptByManyCallers(t *testing.T) {
	s, err := memstore.New(memstore.Config{MaxKeys: 100_000, MaxKeysOf: map[string]int{"inline": 500}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	limit := rule.FixedWindow(rule.PerDay(1))
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := range 500 {
				_ = allowIn(t, s, "inline", fmt.Sprint(caller, "-", i), limit)
			}
		})
	}
	callers.Wait()
	if n := s.Stats().Keys; n != 500 {
		t.Errorf("%d keys, want 500", n)
	}
}

// TestLargeStatesCountByTheirSize checks that permits, entries of logs and segments count as more keys, so that the memory
// of a few keys is bounded too, that releases make room, and that the other namespaces keep theirs (regression: bug 111).
func TestLargeStatesCountByTheirSize(t *testing.T) {
	clock := headgatetest.NewClock()
	s, err := memstore.New(memstore.Config{MaxKeys: 1000, Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.KeepRoom("policy:jobs", "policy:api")
	results := make([]engine.Answer, 1)
	ask := func(op engine.Op) *engine.Answer {
		if s.Do(t.Context(), []engine.Op{op}, results); results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		return &results[0]
	}
	jobs := rule.Concurrency(100_000, rule.LeaseTime(time.Hour))
	permit := func(kind engine.Kind, i int) *engine.Answer {
		return ask(engine.Op{Kind: kind, Space: "policy:jobs", Key: fmt.Sprint(i % 3), ID: fmt.Sprintf("%064d", i), Charges: []engine.Charge{{Limit: jobs, Cost: 1}}})
	}
	held := 0
	for ; permit(engine.OpAcquire, held).Allowed; held++ {
		if held > 5000 {
			t.Fatal("permits are not bounded")
		}
	}
	// The policy has its 250 keys and 500 of both: 750 of 256 bytes, which are a thousand permits of 192.
	if o := &results[0]; !o.Full || held < 900 || held > 1100 {
		t.Errorf("%d permits, then %+v", held, o)
	}
	for i := range 250 {
		if !allowIn(t, s, "policy:api", fmt.Sprint(i), rule.FixedWindow(rule.PerDay(5))) {
			t.Fatalf("another policy has room for %d keys of its 250", i)
		}
	}
	for i := range 100 {
		if permit(engine.OpRelease, i); !results[0].Found {
			t.Fatalf("permit %d was not held", i)
		}
	}
	if o := permit(engine.OpAcquire, held); !o.Allowed {
		t.Errorf("after releases: %+v", o)
	}
	clock.Advance(2 * time.Hour)
	if o := permit(engine.OpAcquire, 0); !o.Allowed {
		t.Errorf("after the leases: %+v, %+v", o, s.Stats())
	}
	log, admitted := rule.SlidingLog(rule.PerDay(100_000)), 0
	for ; admitted < 30_000; admitted++ {
		clock.Advance(time.Microsecond)
		op := engine.Single(engine.OpAllow, "busy", log, 1)
		if op.Space = "policy:jobs"; !ask(op).Allowed {
			break
		}
	}
	if o := &results[0]; !o.Full || admitted < 4_000 || admitted > 16_000 {
		t.Errorf("%d entries of a log, then %+v", admitted, o)
	}
	if s.Stats().Keys > 1300 {
		t.Errorf("%+v", s.Stats())
	}
}
