package fallback

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// slowStore is a store that answers each call after the time takes, and counts the calls and the answered operations.
type slowStore struct {
	takes           time.Duration
	calls, answered atomic.Int64
}

func (s *slowStore) Do(_ context.Context, ops []engine.Op, results []engine.Answer) {
	time.Sleep(s.takes)
	s.calls.Add(1)
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

// TestDebtIsSentTogether adds operations one by one, as in an outage, where each releases its permit. An attempt to send
// them looks at all of them, so each operation must not cause one (regression: bug 277).
func TestDebtIsSentTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick := &slowStore{}
		s := &Store{store: quick, config: Config{Slow: time.Second, Memory: memstore.Config{Clock: time.Now}}}
		s.lanes.each = make([]breaker, 1)
		s.outbox.wake = make(chan struct{}, 1)
		life, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.flushOutbox(life) })
		const owed = 100
		for i := range owed {
			op := engine.Single(engine.OpRelease, strconv.Itoa(i), rule.Concurrency(10), 1)
			if now := s.now(); !s.outbox.add(&op, now+time.Minute.Microseconds(), now, false, false) {
				t.Fatal("not owed")
			}
			synctest.Wait()
		}
		time.Sleep(2 * firstTry)
		if calls, answered := quick.calls.Load(), quick.answered.Load(); calls != 2 || answered != owed {
			t.Errorf("%d operations sent in %d calls", answered, calls)
		}
		end()
		running.Wait()
	})
}
