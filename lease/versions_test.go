package lease_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/lease"
)

// TestVersionsShareALease: two versions of a limit are one counter, and so have one
// lease between them: what is held under one goes back before the other is asked.
func TestVersionsShareALease(t *testing.T) {
	larger := headgate.Must(headgate.TokenBucket(headgate.PerHour(100)))
	smaller := headgate.Must(headgate.TokenBucket(headgate.PerHour(100), headgate.Burst(60)))
	other := headgate.Must(headgate.FixedWindow(headgate.PerHour(100)))
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		ctx := context.Background()
		held, l := process(t, s, lease.Config{Limits: []headgate.Limit{larger, smaller, other}, Life: 10 * time.Second, MaxUnits: 1000, HotAfter: 1})
		defer held.Close()
		time.Sleep(time.Minute)
		allow := func(limit headgate.Limit, want headgate.Mode) headgate.Decision {
			t.Helper()
			d, err := l.Allow(ctx, "k", limit)
			if err != nil || !d.Allowed || d.Promise.Mode != want {
				t.Fatalf("%v: %+v, %v; want it allowed, %s", limit, d, err, want)
			}
			return d
		}
		left := func() int64 {
			t.Helper()
			d, err := headgate.New(s).Peek(ctx, "k", larger)
			if err != nil {
				t.Fatal(err)
			}
			return d.Remaining
		}
		allow(larger, headgate.Exact)
		allow(larger, headgate.Exact) // and takes half of the rest in advance
		allow(larger, headgate.Leased)
		if n := left(); n > 60 {
			t.Fatalf("%d left at the store: nothing was taken in advance", n)
		}
		// The other version finds them given back: 97 less its own unit.
		if d := allow(smaller, headgate.Exact); d.Remaining != 56 || left() != 96 {
			t.Errorf("%d left under the smaller version, %d at the store; want 56 and 96", d.Remaining, left())
		}
		if n := held.Stats().Returned; n == 0 {
			t.Error("nothing was returned")
		}
		// Another grid is another counter: it takes nothing from this one.
		allow(other, headgate.Exact)
		if n := left(); n != 96 {
			t.Errorf("%d left, want 96", n)
		}
	})
}
