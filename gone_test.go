package headgate_test

import (
	"context"
	"testing"

	"github.com/headgate/headgate"
)

// A caller that has left still gives back what it holds: `defer permit.Release(ctx)` is the usual line, and ctx is often
// that of a request whose client has left (regression: bug 140).
func TestUnitsAreGivenBackAfterTheContext(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	policy := limiter.Policy("tokens", headgate.FixedWindow{Rate: headgate.PerHour(10)})
	semaphore := limiter.Semaphore("exports", headgate.Concurrency{Units: 10})
	gone, leave := context.WithCancel(t.Context())
	leave()
	reserve := func() *headgate.Reservation {
		r, d, err := policy.Reserve(t.Context(), "acme", 5)
		if err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
		return r
	}
	for name, end := range map[string]func() error{
		"release": func() error {
			permit, err := semaphore.Acquire(t.Context(), "acme", 5)
			if err != nil {
				t.Fatal(err)
			}
			return permit.Release(gone)
		},
		"cancel":       func() error { return reserve().Cancel(gone) },
		"commit":       func() error { _, err := reserve().Commit(gone, 0); return err },
		"commit named": func() error { _, err := reserve().CommitNamed(gone, map[string]int64{"tokens": 0}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if err := end(); err != nil {
				t.Error(err)
			}
			if d, err := policy.Peek(t.Context(), "acme", 1); err != nil || d.Remaining != 10 {
				t.Error("units", d, err)
			}
			if d, err := semaphore.Peek(t.Context(), "acme", 1); err != nil || d.Remaining != 10 {
				t.Error("permits", d, err)
			}
		})
	}
}
