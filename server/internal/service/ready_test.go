package service_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/service"
)

// TestReadyDependsOnFailureModes checks that readiness depends on the store if CheckStore is set and the failure mode
// of a policy or of inline limits is deny.
func TestReadyDependsOnFailureModes(t *testing.T) {
	for _, c := range []struct {
		check    bool
		inline   policy.Failure
		policies string
		ready    bool
	}{
		{check: true, inline: policy.Deny, policies: "policies: {}", ready: false},
		{check: true, inline: policy.Allow, policies: "policies: {}", ready: true},
		{check: true, inline: policy.Allow, policies: "policies: {a: {unlimited: true, failure: allow}, b: {algorithm: gcra, rate: 1/s, failure: deny}}", ready: false},
		{check: true, inline: policy.Local, policies: "policies: {a: {unlimited: true, failure: allow}, b: 1/s}", ready: true},
		{check: true, inline: policy.Allow, policies: "policies: {a: {unlimited: true, failure: allow}}", ready: true},
		{check: true, inline: policy.Deny, policies: "policies: {a: {unlimited: true, failure: allow}}", ready: false},
		{check: false, inline: policy.Deny, policies: "policies: {b: {algorithm: gcra, rate: 1/s, failure: deny}}", ready: true},
	} {
		config, err := policy.Parse("x.yaml", []byte(c.policies))
		if err != nil {
			t.Fatal(err)
		}
		limiter := core.New(core.Config{Store: &fixedStore{engine.Answer{Err: headgate.ErrStoreUnavailable}}})
		s := service.New(service.Config{Limiter: limiter, Failure: c.inline, Policies: config.Policies, CheckStore: c.check})
		err = s.Ready(context.Background())
		if e := (*service.Error)(nil); (err == nil) != c.ready || err != nil && (!errors.As(err, &e) || e.Code != service.Unavailable) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// slowStore answers after a delay, or fails at the call's deadline.
type slowStore struct {
	fixedStore

	takes time.Duration
	calls atomic.Int64
}

func (s *slowStore) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	s.calls.Add(1)
	select {
	case <-time.After(s.takes):
		s.fixedStore.Do(ctx, ops, results)
	case <-ctx.Done():
		results[0].Err = ctx.Err()
	}
}

// TestReadyTimesOut checks that if the store hangs, Ready fails after the deadline for decisions or after a second,
// whichever is shorter. It fails earlier if the probe's context ends.
func TestReadyTimesOut(t *testing.T) {
	for deadline, want := range map[time.Duration]time.Duration{50 * time.Millisecond: 50 * time.Millisecond, time.Minute: time.Second, 0: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			store := &slowStore{takes: time.Hour}
			s := service.New(service.Config{Limiter: core.New(core.Config{Store: store}), CheckStore: true, Deadline: deadline})
			start := time.Now()
			if err := s.Ready(context.Background()); err == nil || time.Since(start) != want {
				t.Errorf("deadline %s: %v after %s, want an error after %s", deadline, err, time.Since(start), want)
			}
			time.Sleep(time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			start = time.Now()
			if err := s.Ready(ctx); err == nil || time.Since(start) != time.Millisecond {
				t.Errorf("a probe with a deadline of 1ms: %v after %s", err, time.Since(start))
			}
			synctest.Wait()
			time.Sleep(time.Second)
		})
	}
}

// TestProbesShareAStoreCall checks that with 100 probes per millisecond the store receives at most one call in 10 ms,
// and one at a time.
func TestProbesShareAStoreCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{takes: 2 * time.Millisecond}
		s := service.New(service.Config{Limiter: core.New(core.Config{Store: store}), CheckStore: true})
		var wg sync.WaitGroup
		for range 1000 {
			for range 100 {
				wg.Go(func() {
					if err := s.Ready(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		if n := store.calls.Load(); n < 50 || n > 100 {
			t.Errorf("%d calls in a second, want 50 to 100", n)
		}
	})
}
