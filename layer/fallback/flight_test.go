package fallback

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// slowStore is a store that answers each call after the time takes, and counts the answered operations.
type slowStore struct {
	takes    time.Duration
	answered atomic.Int64
}

func (s *slowStore) Do(_ context.Context, ops []engine.Op, results []engine.Answer) {
	time.Sleep(s.takes)
	for i := range ops {
		results[i].Found = true
		s.answered.Add(1)
	}
}

func (*slowStore) Close() error { return nil }

// TestDebtIsInOneCall flushes from two goroutines, as the background goroutine and a lane that comes back do. Each owed
// operation is sent once, and both goroutines return only after the answer (regression: bug 73).
func TestDebtIsInOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowStore{takes: 30 * time.Millisecond}
		s := &Store{store: slow, config: Config{Slow: time.Second, Memory: memstore.Config{Clock: time.Now}}}
		s.outbox.wake = make(chan struct{}, 1)
		op := engine.Single(engine.OpRelease, "k", rule.Concurrency(10), 1)
		op.ID = "holder"
		now := s.now()
		if !s.outbox.add(&op, now+time.Minute.Microseconds(), now, false, false) {
			t.Fatal("not owed")
		}
		var flushes sync.WaitGroup
		for range 3 {
			flushes.Go(func() {
				s.flush(t.Context(), func(*engine.Op) bool { return true })
				if n := slow.answered.Load(); n != 1 {
					t.Errorf("a flush ended after %d answers", n)
				}
			})
		}
		flushes.Wait()
		if slow.answered.Load() != 1 || s.outbox.count.Load() != 0 {
			t.Errorf("%d sent, %d owed", slow.answered.Load(), s.outbox.count.Load())
		}
	})
}
