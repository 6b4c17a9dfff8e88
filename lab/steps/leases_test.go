package steps

import (
	"testing"

	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/lab/script"
	"github.com/headgate/headgate/memstore"
)

// TestLeasesDifferential runs random scripts for a concurrency limit on the memory store and on the model. A holder
// acquires the same number of units each time, the clock only goes forward, and the limit does not change. The reason
// is that the two sides may differ in the effect of acquiring a different number of units, and in whether a peek
// shortens permits that end too late.
func TestLeasesDifferential(t *testing.T) {
	for i := range max(1, *differential.Steps/differential.CaseSteps) {
		differLeases(t, *differential.Seed+uint64(i))
	}
}

func differLeases(t *testing.T, seed uint64) {
	t.Helper()
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	differential.RunLeases(t, store, clock, seed)
}

// FuzzSteps lets the fuzzer choose the script. The store and the model must agree on every script.
func FuzzSteps(f *testing.F) {
	for i := range uint64(10) {
		f.Add(i, byte(i), byte(i*7))
	}
	f.Fuzz(func(t *testing.T, seed uint64, algorithm, options byte) {
		has := func(bit int) bool { return options&(1<<bit) != 0 }
		differ(t, script.Algorithms[int(algorithm)%len(script.Algorithms)], script.Options{
			ClockSteps: has(0) && !has(2), Changes: has(1), All: has(2), Big: has(3), Extras: has(4),
		}, seed)
		differLeases(t, seed)
	})
}
