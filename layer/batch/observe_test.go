package batch_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/batch"
)

// TestObserveSeesOpsAndWait checks that the first call is sent at once. The second call contains the operations that
// arrived in the meantime, and must report the wait of the operation that arrived first.
func TestObserveSeesOpsAndWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		g, store, l := start(t, batch.Config{InFlight: 1, Observe: func(ops int, waited time.Duration) {
			calls = append(calls, fmt.Sprint(ops, " ", waited))
		}})
		defer store.Close()
		var callers sync.WaitGroup
		for i := range 3 {
			callers.Go(func() {
				_, _ = l.PolicyOf("", rule.FixedWindow(rule.PerHour(5))).Allow(context.Background(), fmt.Sprint(i))
			})
			synctest.Wait()
			time.Sleep(time.Second)
		}
		close(g.open)
		callers.Wait()
		if want := []string{"1 0s", "2 2s"}; !slices.Equal(calls, want) {
			t.Errorf("%q, want %q", calls, want)
		}
	})
}
