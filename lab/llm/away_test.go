package llm

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
)

const (
	awayStreams = 1000
	awayBudget  = 1_000_000_000
)

// Redis hangs while two processes have 1000 open streams. Commits during the outage are either kept and applied when
// Redis answers again, or counted as lost, so that the counter exactly matches the sum of the used units. Units that
// shares allowed during the outage are never charged in the store, and stay within the stated overshoot.
func TestRedisAwayInTheMiddle(t *testing.T) {
	server := redistest.Standalone(t, redistest.Redis)
	var limiters [2]*headgate.Limiter
	var stores [2]open.Opened
	for i := range stores {
		opened, err := open.URL(t.Context(), "redis://"+server.Addr(), open.Options{Deadline: time.Second, Fallback: &fallback.Config{Expect: 2}})
		if err != nil {
			t.Fatal(err)
		}
		stores[i], limiters[i] = opened, headgate.New(headgate.WithStore(opened))
		t.Cleanup(func() { _, _ = limiters[i].Close(), opened.Close() })
	}
	budget := func(l *headgate.Limiter) *headgate.Policy {
		return l.PolicyOf("budget", rule.FixedWindow(rule.PerDay(awayBudget)))
	}
	held := make([]*headgate.Reservation, awayStreams)
	each(awayStreams, func(i int) {
		l := limiters[i%2]
		r, d, err := l.ReserveAll(t.Context(),
			headgate.Charge{Policy: budget(l), Key: "acme", Units: 1000},
			headgate.Charge{Policy: l.PolicyOf("user", rule.TokenBucket(rule.PerMinute(10_000))), Key: fmt.Sprint("user ", i), Units: 1000})
		if err != nil || !d.Allowed {
			t.Errorf("stream %d: %+v, %v", i, d, err)
		}
		held[i] = r
	})
	if t.Failed() {
		return
	}
	var used, shared counter
	commit := func(from, to int, units int64) {
		each(to-from, func(i int) {
			if _, err := held[from+i].Commit(t.Context(), units, units); err != nil {
				t.Errorf("stream %d: %v", from+i, err)
				units = 1000 // the reserved units stay charged
			}
			used.add(units)
		})
	}
	commit(0, 300, 600)
	server.Pause()
	away := time.Now()
	commit(300, 700, 1500)
	each(200, func(i int) { // the two processes' shares refill by 11 574 per second
		d, err := budget(limiters[i%2]).AllowN(t.Context(), "acme", 10)
		switch {
		case err != nil:
			t.Errorf("an outage is answered by shares: %v", err)
		case d.Allowed && d.Promise.Mode != engine.Fallback:
			t.Errorf("not by a share: %+v", d)
		case d.Allowed:
			shared.add(10)
		}
	})
	server.Resume()
	if share := int64(time.Since(away).Seconds()*awayBudget/86400) + awayBudget; shared.sum() > share {
		t.Errorf("shares let %d units through, more than the bucket of the limit: %d", shared.sum(), share)
	}
	commit(700, 1000, 0)
	testbed.Until(t, "nothing is owed to the store", func() bool {
		return stores[0].Fallback.Stats().Owed+stores[1].Fallback.Stats().Owed == 0
	})
	if lost := stores[0].Fallback.Stats().Unsettled + stores[1].Fallback.Stats().Unsettled; lost != 0 {
		t.Errorf("%d settlements are lost", lost)
	}
	for i := 0; i < awayStreams; i += 9 { // the other process settles these again, but nothing is settled twice
		again, err := limiters[(i+1)%2].Reservation(held[i].String())
		if err == nil {
			err = again.Cancel(t.Context())
		}
		if err != nil {
			t.Errorf("stream %d: %v", i, err)
		}
	}
	d, err := budget(limiters[0]).Peek(t.Context(), "acme", 1)
	if charged := awayBudget - d.Remaining; err != nil || charged != used.sum() {
		t.Errorf("%d units are charged, and %d were used: %+v, %v", charged, used.sum(), d, err)
	}
}

// each calls do with 0 to n-1 from several goroutines.
func each(n int, do func(i int)) {
	var all sync.WaitGroup
	const callers = 8
	for c := range callers {
		all.Go(func() {
			for i := c; i < n; i += callers {
				do(i)
			}
		})
	}
	all.Wait()
}

// counter is a sum. Goroutines can add to it concurrently.
type counter struct {
	mu sync.Mutex
	n  int64
}

func (c *counter) add(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
}

func (c *counter) sum() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}
