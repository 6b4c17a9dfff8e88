package headgate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// overtakenStore decides an acquire or reserve only after a while, when its caller may have gone. Later calls overtake it.
type overtakenStore struct {
	*counting

	late time.Duration
	down bool // no call reaches the store
}

func (s *overtakenStore) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if ops[0].Kind != engine.OpAcquire && ops[0].Kind != engine.OpReserve {
		s.counting.Do(ctx, ops, results)
		return
	}
	copies := make([]engine.Op, len(ops))
	for i := range ops {
		copies[i] = ops[i]
		copies[i].Charges = append([]engine.Charge(nil), ops[i].Charges...)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(s.late)
		if !s.down {
			s.counting.Do(context.Background(), copies, make([]engine.Answer, len(ops)))
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	for i := range results {
		results[i].Err = fmt.Errorf("%w: %w", engine.ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// A permit whose answer was late is released in the background, also if the acquire reaches the store after releases.
// Before, TryAcquire and ReserveAll left it held until its lease ended (regression: bug 89).
func TestLatePermitIsReleased(t *testing.T) {
	for name, acquire := range map[string]func(ctx context.Context, l *headgate.Limiter, s *headgate.Semaphore) error{
		"TryAcquire": func(ctx context.Context, _ *headgate.Limiter, s *headgate.Semaphore) error {
			_, _, err := s.TryAcquire(ctx, "k", 1)
			return err
		},
		"Acquire": func(ctx context.Context, _ *headgate.Limiter, s *headgate.Semaphore) error {
			_, err := s.Acquire(ctx, "k", 1)
			return err
		},
		"ReserveAll": func(ctx context.Context, l *headgate.Limiter, s *headgate.Semaphore) error {
			_, _, err := l.ReserveAll(ctx, headgate.Charge{Semaphore: s, Key: "k", Units: 1})
			return err
		},
	} {
		for _, late := range []time.Duration{0, 20 * time.Millisecond, 3 * time.Second} {
			t.Run(fmt.Sprint(name, late), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					_, store := onMemory(t)
					l := headgate.New(headgate.WithStore(&overtakenStore{counting: store, late: late}))
					defer l.Close()
					s := l.Semaphore("s", headgate.Concurrency{Units: 1, Lease: time.Hour})
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
					defer cancel()
					want := headgate.ErrOutcomeUnknown
					if name == "Acquire" && late > 0 { // the caller has left, so its context says why (regression: bug 124)
						want = context.DeadlineExceeded
					}
					if err := acquire(ctx, l, s); !errors.Is(err, want) {
						t.Fatal(err)
					}
					time.Sleep(late + 2*time.Second)
					if d, err := s.Peek(t.Context(), "k", 1); err != nil || !d.Allowed {
						t.Errorf("%+v, %v: the permit of a caller without an answer is held", d, err)
					}
				})
			})
		}
	}
}

// Close ends releases in the background, and their number is bounded.
func TestLateReleasesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, store := onMemory(t)
		l := headgate.New(headgate.WithStore(&overtakenStore{counting: store, down: true}))
		s := l.Semaphore("s", headgate.Concurrency{Units: 1, Lease: time.Hour})
		for range 1100 {
			_, _, _ = s.TryAcquire(t.Context(), "k", 1)
		}
		time.Sleep(10 * time.Second)
		before := store.calls.Load()
		time.Sleep(time.Second)
		if calls := store.calls.Load() - before; calls == 0 || calls > 1100 {
			t.Errorf("%d releases a second of 1100 lost permits", calls)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		before = store.calls.Load()
		time.Sleep(time.Minute)
		if calls := store.calls.Load() - before; calls != 0 {
			t.Errorf("%d releases after Close", calls)
		}
	})
}
