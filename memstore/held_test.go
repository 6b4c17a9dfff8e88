package memstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// Limits without a state need no room, so a full store can still decide them.
func TestFullStoreDecidesLimitsWithoutState(t *testing.T) {
	clock := headgatetest.NewClock()
	store, l := open(t, memstore.Config{MaxKeys: 1, Clock: clock.Now})
	if err := take(t, l, "a", seconds(1)); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []engine.Limit{engine.NoLimit(), engine.DenyAll()} {
		if err := take(t, l, "b", limit); err != nil {
			t.Errorf("%v: %v", limit, err)
		}
	}
	if got, want := store.Stats(), (memstore.Stats{Keys: 1, Most: 1, Shared: 1, MostShared: 1}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

// A key whose spent units have all been given back is not stored.
func TestUntouchedKeyIsNotStored(t *testing.T) {
	store, l := open(t, memstore.Config{Clock: headgatetest.NewClock().Now})
	if err := take(t, l, "a", seconds(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.PolicyOf("", seconds(1)).Give(context.Background(), "a", 1); err != nil {
		t.Fatal(err)
	}
	// An allow on several limits, followed by a give, leaves nothing stored either.
	both := []engine.Charge{{Limit: seconds(1), Cost: 1}, {Limit: rule.TokenBucket(rule.PerSecond(9)), Cost: 1}}
	for _, kind := range []engine.Kind{engine.OpAllow, engine.OpGive} {
		if r := l.Core().Decide(context.Background(), []engine.Op{{Kind: kind, Key: "a", Charges: both}}...)[0]; r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if got, want := store.Stats(), (memstore.Stats{Most: 1_000_000, MostShared: 500_000}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

// An expiry lookup on several limits returns the latest of their expiries, regardless of their order.
func TestExpiryIsTheLongestOfSeveral(t *testing.T) {
	_, l := open(t, memstore.Config{Clock: headgatetest.NewClock().Now})
	short := rule.FixedWindow(rule.Per(10, time.Second), rule.Named("short"))
	long := rule.FixedWindow(rule.Per(10, time.Minute), rule.Named("long"))
	for _, limit := range []engine.Limit{short, long} {
		if err := take(t, l, "a", limit); err != nil {
			t.Fatal(err)
		}
	}
	for _, charges := range [][]engine.Charge{{{Limit: short}, {Limit: long}}, {{Limit: long}, {Limit: short}}} {
		r := l.Core().Decide(context.Background(), []engine.Op{{Kind: engine.OpExpiry, Key: "a", Charges: charges}}...)[0]
		if r.Err != nil || !r.Found || r.TTL != time.Minute {
			t.Errorf("%v, %v, %v; want a minute", r.Found, r.TTL, r.Err)
		}
	}
}
