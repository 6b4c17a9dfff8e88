package headgatetest

import (
	"errors"
	"time"

	"github.com/headgate/headgate"
)

// TB is the part of testing.TB that this package uses, so that this package does not import testing.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(f func())
}

// Requirement provides the assertions of [Require]. Each fails the test immediately if a decision is not as expected.
type Requirement struct{ t TB }

// Require returns assertions for a test. They accept the results of a call directly:
//
//	require := headgatetest.Require(t)
//	require.Allowed(api.Allow(ctx, "laoqian"))
//	require.Wait(require.Denied(api.Allow(ctx, "laoqian")), 12*time.Second)
func Require(t TB) Requirement { return Requirement{t} }

// Allowed fails the test unless the request is allowed, and returns the decision.
func (r Requirement) Allowed(d headgate.Decision, err error) headgate.Decision {
	r.t.Helper()
	switch {
	case err != nil:
		r.t.Fatalf("the decision is not known, want an allowed request: %v", err)
	case !d.Allowed:
		r.t.Fatalf("%v, want an allowed request", d.Err())
	}
	return d
}

// Denied fails the test unless the request is denied, and returns the decision. An error is not a denial.
func (r Requirement) Denied(d headgate.Decision, err error) headgate.Decision {
	r.t.Helper()
	switch {
	case err != nil:
		r.t.Fatalf("the decision is not known, want a denied request: %v", err)
	case d.Allowed:
		r.t.Fatalf("allowed %d units with %d of %d remaining, want a denied request", d.Granted, d.Remaining, d.Limit)
	case !errors.Is(d.Err(), headgate.ErrDenied): // the zero Decision
		r.t.Fatalf("%v, want a denied request", d.Err())
	}
	return d
}

// Wait fails the test unless the caller has to wait exactly this long: RetryAfter of a denied request ([headgate.Never]
// if it can never pass), or Delay of an allowed one.
func (r Requirement) Wait(d headgate.Decision, want time.Duration) {
	r.t.Helper()
	name, got := "retry after", d.RetryAfter
	if d.Allowed {
		name, got = "a delay of", d.Delay
	}
	if got != want {
		r.t.Fatalf("%s %s, want %s", name, wait(got), wait(want))
	}
}

func wait(d time.Duration) string {
	if d == headgate.Never {
		return "never"
	}
	return d.String()
}

// Remaining fails the test unless exactly this many units could still pass after the decision.
func (r Requirement) Remaining(d headgate.Decision, want int64) {
	r.t.Helper()
	if d.Remaining != want {
		r.t.Fatalf("%d units remain, want %d", d.Remaining, want)
	}
}
