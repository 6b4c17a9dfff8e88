// Package storetest contains the cases that every [engine.Store] must pass. A store's own test calls [Run] with a
// function that opens the store. A failure message includes the reason for the violated rule. Numbers after "known bug"
// refer to docs/design/known-bugs.md, a list of bugs seen in other rate limiters.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
)

// Options configures how to open a store under test.
type Options struct {
	// New returns an empty store that reads its time from now. It must close the store when the test ends. The store
	// must hold at least 4096 keys.
	New func(t *testing.T, now func() time.Time) engine.Store
	// Once skips the second run, for a store that is also tested with borrowed memory elsewhere.
	Once bool
}

// Run runs every case on a new store. Unless o.Once is set, it runs them a second time with operations whose memory is
// overwritten after each call: see [Borrow].
func Run(t *testing.T, o Options) {
	t.Helper()
	runAll(t, o)
	if o.Once {
		return
	}
	t.Run("borrowed", func(t *testing.T) { runAll(t, o.borrowing()) })
	t.Run("keys in one buffer", func(t *testing.T) { runBorrowed(t, o) })
}

func runAll(t *testing.T, o Options) {
	t.Helper()
	t.Run("every algorithm", func(t *testing.T) { runEvery(t, o) })
	t.Run("leases", func(t *testing.T) { runLeases(t, o) })
	t.Run("leases taken again", func(t *testing.T) { runLeasesAgain(t, o) })
	t.Run("more units", func(t *testing.T) { runMoreUnits(t, o) })
	t.Run("lengths of leases", func(t *testing.T) { runLeaseLengths(t, o) })
	t.Run("leases of several limits", func(t *testing.T) { runLeasesTogether(t, o) })
	t.Run("fair leases", func(t *testing.T) { runFairLeases(t, o) })
	t.Run("waits for fair leases", func(t *testing.T) { runFairWaits(t, o) })
	t.Run("fair leases of one instant", func(t *testing.T) { runFairTies(t, o) })
	t.Run("lists", func(t *testing.T) { runLists(t, o) })
	t.Run("terms", func(t *testing.T) { runTerms(t, o) })
	t.Run("lifetimes", func(t *testing.T) { runLifetimes(t, o) })
	t.Run("parallel", func(t *testing.T) { runParallel(t, o) })
	t.Run("shares", func(t *testing.T) { runShares(t, o) })
	t.Run("contract", func(t *testing.T) { runContract(t, o) })
}

const (
	ms     = time.Millisecond
	second = time.Second
	never  = engine.Never
)

// do runs one operation.
func do(t *testing.T, store engine.Store, op engine.Op) engine.Answer {
	t.Helper()
	if err := op.Check(); err != nil {
		t.Fatal(err)
	}
	var results [1]engine.Answer
	store.Do(context.Background(), []engine.Op{op}, results[:])
	return results[0]
}
