package engine

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Equal limits share one spec, even if goroutines build them at the same time. A spec that no limit references is
// collected.
func TestEqualLimitsShareOneCollectableSpec(t *testing.T) {
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
		time.Sleep(time.Millisecond) // the runtime runs cleanups in a goroutine
	}
	if n := known(); n > before+1 {
		t.Errorf("%d limits are known, want %d", n, before+1)
	}
	if again, err := ParseLimit(held[0].String()); err != nil || again != held[0] {
		t.Errorf("%v, parsed again, is a different limit: %v", again, err)
	}
	runtime.KeepAlive(held)
}
