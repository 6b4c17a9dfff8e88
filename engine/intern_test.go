package engine

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// TestLimitsAreShared: equal limits are one, whoever makes them at the same
// time, and what nobody holds is collected.
func TestLimitsAreShared(t *testing.T) {
	const made = 1000
	known := func() int {
		limits.RLock()
		defer limits.RUnlock()
		return len(limits.specs)
	}
	before := known()
	held := make([]Limit, 8)
	var wg sync.WaitGroup
	for g := range held {
		wg.Go(func() {
			for i := range int64(made) {
				held[g] = Build(algo.TokenBucket, []Rate{Per(987_654_321-i, 7*time.Hour)})
			}
		})
	}
	wg.Wait()
	for _, l := range held[1:] {
		if l != held[0] {
			t.Fatalf("%v and %v are not equal", l, held[0])
		}
	}
	for range 100 {
		runtime.GC()
		if known() <= before+1 {
			break
		}
		time.Sleep(time.Millisecond) // cleanups run on their own
	}
	if n := known(); n > before+1 {
		t.Errorf("%d limits are known, want %d", n, before+1)
	}
	if again, err := ParseLimit(held[0].String()); err != nil || again != held[0] {
		t.Errorf("%v, made anew, is another: %v", again, err)
	}
	runtime.KeepAlive(held)
}
