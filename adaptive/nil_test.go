package adaptive_test

import (
	"errors"
	"testing"
	"time"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/engine"
)

// A Release can be deferred before the program looks whether the call was admitted (regression: bug 199).
func TestDenialHasAPermitThatDoesNothing(t *testing.T) {
	l, err := adaptive.New(adaptive.Config{Min: 1, Max: 1, Latency: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	first, ok := l.TryAcquire()
	if !ok {
		t.Fatal("the first call is denied")
	}
	denied, ok := l.TryAcquire()
	if ok {
		t.Fatal("the second call is admitted")
	}
	for _, p := range []*adaptive.Permit{denied, {}} {
		p.Answered()
		p.Exclude(time.Second)
		p.Release(adaptive.Done)
	}
	if n := l.Status().InFlight; n != 1 {
		t.Errorf("%d calls in flight, want 1", n)
	}
	first.Release(adaptive.Done)
}

// A limiter that New did not make admits nothing, and says so (regression: bug 199).
func TestLimiterThatWasNotMade(t *testing.T) {
	for _, l := range []*adaptive.Limiter{nil, {}} {
		p, ok := l.TryAcquire()
		p.Release(adaptive.Done)
		if ok || l.Status() != (adaptive.Status{}) {
			t.Errorf("admitted: %t, %+v", ok, l.Status())
		}
		for _, err := range []error{l.Freeze(1), l.Configure(adaptive.Config{Min: 1, Max: 1, Latency: time.Second})} {
			if !errors.Is(err, engine.ErrInvalid) {
				t.Error(err)
			}
		}
	}
}

// Neither does a controller, such as the result of NewController with an error.
func TestControllerThatWasNotMade(t *testing.T) {
	none, err := adaptive.NewController(adaptive.Config{})
	if !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
	for _, c := range []*adaptive.Controller{none, {}} {
		c.Done(1, 1, true)
		if c.Allow(1, 0) || c.Limit() != 0 || c.Suggest() != 0 || c.Why() != "" {
			t.Errorf("%d, %d, %q", c.Limit(), c.Suggest(), c.Why())
		}
	}
}
