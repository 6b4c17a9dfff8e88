package headgate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/memstore"
)

// Errors name the value that the program passed, and what the same method takes in its place (regression: bug 144).
func TestMistakesAreNamedAsWritten(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	policy := limiter.Policy("tokens", headgate.TokenBucket{Rate: headgate.PerHour(10)})
	semaphore := limiter.Semaphore("exports", headgate.Concurrency{Units: 10})
	_, _, reserve := policy.Reserve(t.Context(), "acme", -7)
	_, wait := policy.WaitN(t.Context(), "acme", -7)
	_, acquire := semaphore.Acquire(t.Context(), "acme", -7)
	_, both := limiter.AllowAll(t.Context(), headgate.Charge{Policy: policy, Semaphore: semaphore, Key: "acme"})
	_, held := limiter.AllowAll(t.Context(), headgate.Charge{Semaphore: semaphore, Key: "acme"})
	for want, err := range map[string]error{
		`policy "tokens": cost is -7; accepted: 1 or more, for reserve`:                               reserve,
		`policy "tokens": cost is -7; accepted: 0 or more`:                                            wait,
		`semaphore "exports": cost is -7; accepted: 1 or more, for acquire`:                           acquire,
		`charges.0: policy is set, and a semaphore; accepted: one of the two`:                         both,
		`charges.0: semaphore "exports": semaphore is set; accepted: a policy; ReserveAll takes both`: held,
		`policy "a": change is nil; accepted: a function; without WithCore there is none`:             headgate.New(headgate.WithCore(nil)).Policy("a").Err(),
	} {
		if err == nil || err.Error() != "headgate: "+want {
			t.Errorf("got  %v\nwant headgate: %s", err, want)
		}
	}
}

// A program that ignores the error of a call and asks the decision for one is not told that a limit denied the request
// (regression: bug 145).
func TestNoDecisionIsNoDenial(t *testing.T) {
	limiter := headgate.New()
	limiter.Close()
	d, _ := limiter.Policy("tokens", headgate.TokenBucket{Rate: headgate.PerHour(10)}).Allow(t.Context(), "acme")
	err := d.Err()
	if !errors.Is(err, headgate.ErrInvalid) || errors.Is(err, headgate.ErrDenied) || !strings.Contains(err.Error(), "decision is not made") {
		t.Error(err)
	}
	// A denial stays one for a test whose clock is the zero time.
	store, _ := memstore.New(memstore.Config{Clock: func() time.Time { return time.Time{} }})
	policy := headgate.New(headgate.WithStore(store)).Policy("tokens", headgate.TokenBucket{Rate: headgate.PerHour(1)})
	for _, want := range []string{"allowed", "denied"} {
		d, err := policy.Allow(t.Context(), "acme")
		if err != nil || errors.Is(d.Err(), headgate.ErrDenied) != (want == "denied") || !strings.HasPrefix(d.String(), want) {
			t.Error(want, d, d.Err(), err)
		}
	}
}
