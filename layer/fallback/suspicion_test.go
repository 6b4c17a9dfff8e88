package fallback_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
)

// leave makes n calls one after another, whose callers leave after the time: at a deadline, or by cancelling.
func leave(t *testing.T, p process, n int, after time.Duration, cancels bool) {
	t.Helper()
	limit := rule.FixedWindow(rule.PerHour(1_000_000))
	for range n {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		if cancels {
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(after, cancel)
		}
		_, _ = p.Limiter.PolicyOf("p", limit).Allow(ctx, "k")
		cancel()
	}
}

// If a store hangs, it is taken out of use although all callers leave long before it counts as late.
// Regression: bug 161.
func TestCallersThatLeaveRevealAHungStore(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			all := s.start(t, 1, fallback.Config{})
			defer end(t, all)
			s.set(nil, true)
			leave(t, all[0], 50, 20*time.Millisecond, cancels)
			if stats := all[0].store.Stats(); !stats.Away {
				t.Errorf("callers that cancel: %t: after a second of calls that hang: %+v", cancels, stats)
			}
		})
	}
}

// Deadlines that are too short for a healthy store do not take it out of use, however many calls miss them. Neither do
// calls that are not sent, because their deadlines have passed.
func TestImpatientCallersDoNotStopAHealthyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.slow = 10 * time.Millisecond
		impatient := &deadlines{server: s}
		store, err := fallback.New(impatient, join(t, s, s.clock), fallback.Config{Expect: 1})
		if err != nil {
			t.Fatal(err)
		}
		p := process{Limiter: headgate.New(headgate.WithStore(store)), store: store}
		defer end(t, []process{p})
		for range 100 {
			leave(t, p, 20, time.Millisecond, false)
			time.Sleep(10 * time.Millisecond)
		}
		if stats := store.Stats(); stats.Away || stats.Outages != 0 || stats.Answered == 0 {
			t.Errorf("calls with deadlines of 1 ms: %+v", stats)
		}
		tests := impatient.tests.Load()
		gone, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		results := make([]engine.Answer, 1)
		for range 100 {
			results[0] = engine.Answer{}
			store.Do(gone, []engine.Op{engine.Single(engine.OpAllow, "k", rule.FixedWindow(rule.PerHour(10)), 1)}, results)
			time.Sleep(10 * time.Millisecond)
		}
		if n := impatient.tests.Load() - tests; n > 1 { // one may be left from the calls before
			t.Errorf("%d tests of the store after calls that were not sent", n)
		}
	})
}

// deadlines is a store whose calls end at their deadlines, before its answers.
type deadlines struct {
	*server

	tests atomic.Int64 // calls that test the store
}

func (d *deadlines) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if ops[0].Space == "headgate:probe" {
		d.tests.Add(1)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d.slow {
		<-ctx.Done()
		for i := range results {
			results[i].Err = fmt.Errorf("%w: %w: %w", engine.ErrOutcomeUnknown, engine.ErrStoreUnavailable, ctx.Err())
		}
		return
	}
	d.server.Do(ctx, ops, results)
}

// A process without requests notices that its store is away, and that it is back (regression: bug 162).
func TestIdleProcessNoticesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		var events []bool
		all := s.start(t, 1, fallback.Config{OnOutage: func(away bool, cause error) {
			if events = append(events, away); away != (cause != nil) {
				t.Errorf("away %t: %v", away, cause)
			}
		}})
		defer end(t, all)
		time.Sleep(time.Minute)
		s.set(headgate.ErrStoreUnavailable, false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if stats := all[0].store.Stats(); !stats.Away || len(events) != 1 || !events[0] {
			t.Errorf("5 s after the store went away: %+v, events %v", stats, events)
		}
		s.set(nil, false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if stats := all[0].store.Stats(); stats.Away || len(events) != 2 || events[1] {
			t.Errorf("2 s after it is back: %+v, events %v", stats, events)
		}
	})
}
