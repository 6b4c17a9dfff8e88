package faults

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
)

// Regression: bug 35, for a Go program with a store from package open. A hanging server does not block a call for
// longer than the deadline in the options or the URL, which is 50 ms by default, or the caller's own deadline.
func TestHangsForGoPrograms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query   string
		options open.Options
		caller  time.Duration
		want    time.Duration
	}{
		"by default":             {want: 50 * time.Millisecond},
		"by the URL":             {query: "?deadline=150ms", want: 150 * time.Millisecond},
		"by the option":          {query: "?deadline=10s", options: open.Options{Deadline: 100 * time.Millisecond}, want: 100 * time.Millisecond},
		"a nearer one of caller": {options: open.Options{Deadline: 10 * time.Second}, caller: 30 * time.Millisecond, want: 30 * time.Millisecond},
		"a later one of caller":  {caller: 10 * time.Second, want: 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Standalone(t, redistest.Redis)
			perUser := program(t, "redis://"+s.Addr()+c.query, c.options)
			d, err := perUser.Allow(t.Context(), "k")
			for range 4 { // a busy machine may delay a single call
				if err == nil {
					break
				}
				d, err = perUser.Allow(t.Context(), "k")
			}
			if err != nil || !d.Allowed {
				t.Fatalf("a server that answers: %+v, %v", d, err)
			}
			s.Pause()
			defer s.Resume()
			fastest := time.Hour
			for range 4 { // as above
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if c.caller > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.caller)
				}
				began := time.Now()
				_, err := perUser.Allow(ctx, "k")
				fastest = min(fastest, time.Since(began))
				cancel()
				if !errors.Is(err, headgate.ErrStoreUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a server that hangs: %v", err)
				}
			}
			if fastest < c.want*9/10 || fastest > c.want+100*time.Millisecond {
				t.Errorf("a call ended after %s, want %s", fastest, c.want)
			}
		})
	}
}

// A negative deadline means no deadline, so the call waits for the server.
func TestNoDeadlineForGoPrograms(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	for _, c := range []struct {
		query   string
		options open.Options
	}{{"?deadline=none", open.Options{}}, {"?deadline=50ms", open.Options{Deadline: -1}}} {
		perUser := program(t, "redis://"+s.Addr()+c.query, c.options)
		s.Pause()
		ended := make(chan error, 1)
		go func() {
			_, err := perUser.Allow(context.Background(), "k")
			ended <- err
		}()
		select {
		case err := <-ended:
			t.Errorf("%s: the call did not wait: %v", c.query, err)
			s.Resume()
		case <-time.After(500 * time.Millisecond):
			s.Resume()
			if err := <-ended; err != nil {
				t.Errorf("%s: after the server went on: %v", c.query, err)
			}
		}
	}
}

// A Go program with Fallback decides from its share when a call reaches its deadline. After a few such calls it decides
// at once, without waiting for the deadline.
func TestSharesForGoPrograms(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	perUser := program(t, "redis://"+s.Addr(), open.Options{Fallback: &fallback.Config{Expect: 2}})
	s.Pause()
	defer s.Resume()
	allowed, denied, atOnce := 0, 0, false
	for began := time.Now(); (!atOnce || denied == 0) && time.Since(began) < 10*time.Second; {
		asked := time.Now()
		d, err := perUser.Allow(t.Context(), "k")
		if err != nil || d.Promise.Mode != engine.Fallback {
			t.Fatalf("%+v, %v; want a decision by the share", d, err)
		}
		if d.Allowed {
			allowed++
		} else {
			denied++
		}
		atOnce = atOnce || time.Since(asked) < 5*time.Millisecond
	}
	if allowed != 5 || !atOnce { // the store has answered the process, so its share of 10 for two is whole
		t.Errorf("%d of 10 an hour were allowed; without a wait: %t", allowed, atOnce)
	}
}

// program returns a policy with a limit of 10 per hour, on a store from package open.
func program(t *testing.T, url string, o open.Options) *headgate.Policy {
	t.Helper()
	store, err := open.URL(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New(headgate.WithStore(store))
	t.Cleanup(func() {
		if err := errors.Join(limiter.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return limiter.PolicyOf("per-user", rule.FixedWindow(rule.PerHour(10)))
}
