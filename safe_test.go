package headgate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate"
)

// The verbs that would only return a delay, which a program can ignore, are errors under a pacer: 1000 of 1000 requests
// used to pass at once. The verbs that make the caller wait are not (regression: bug 117).
func TestPacerNeedsItsDelay(t *testing.T) {
	l, _ := onClock(t)
	ctx := t.Context()
	for name, limit := range map[string]headgate.Limit{
		"pacer": headgate.Pacer{Rate: headgate.PerSecond(10), MaxQueue: 20}, "fair": headgate.FairPacer{Rate: headgate.PerSecond(10), MaxQueue: 20},
	} {
		p := l.Policy(name, limit, headgate.FixedWindow{Rate: headgate.PerHour(1000)})
		one := headgate.Charge{Policy: p, Key: "k"}
		_, allow := p.Allow(ctx, "k")
		_, atMost := p.AtMost(ctx, "k", 5)
		_, _, charge := p.Charge(ctx, "k", 1)
		_, all := l.AllowAll(ctx, one)
		_, other := p.LeavingPercent(0).Allow(ctx, "k")
		for verb, err := range map[string]error{"Allow": allow, "AtMost": atMost, "Charge": charge, "AllowAll": all, "AllowEach": l.AllowEach(ctx, one)[0].Err, "Leaving": other} {
			if !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), "Wait, Reserve and ReserveAll") {
				t.Errorf("%s of a %s: %v", verb, name, err)
			}
		}
		if d, err := p.Peek(ctx, "k", 1); err != nil || d.Limits[1].Remaining != 1000 {
			t.Errorf("the errors of a %s charged something: %+v, %v", name, d, err)
		}
		if _, err := p.Wait(ctx, "k"); err != nil {
			t.Error(err)
		}
		if r, _, err := p.Reserve(ctx, "k", 1); err != nil || r == nil {
			t.Error(err)
		}
		if r, _, err := l.ReserveAll(ctx, one); err != nil || r == nil {
			t.Error(err)
		}
	}
}

// A penalty counts the denials of other limits, so alone it would let everything pass.
func TestPenaltyAlone(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	penalty := headgate.Penalty{Rate: headgate.PerMinute(10)}
	if err := l.Policy("alone", penalty).Err(); !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), "a penalty alone") {
		t.Error(err)
	}
	if err := l.Policy("with", penalty, headgate.TokenBucket{Rate: headgate.PerMinute(10)}).Err(); err != nil {
		t.Error(err)
	}
}

// A second policy or semaphore of one name with other limits is an error, unless the program asks for it
// (regression: bug 118).
func TestOneNameTwoLimits(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	ten, twenty := headgate.FixedWindow{Rate: headgate.PerHour(10)}, headgate.FixedWindow{Rate: headgate.PerHour(20)}
	first := l.Policy("api", ten)
	if err := l.Policy("api", ten).Err(); err != nil {
		t.Errorf("the same limits: %v", err)
	}
	want := `headgate: policy "api": limits is fixed-window 20/1h; accepted: fixed-window 10/1h, as in the first policy of this name; With makes one with other limits`
	if err := l.Policy("api", twenty).Err(); !errors.Is(err, headgate.ErrInvalid) || err.Error() != want {
		t.Errorf("other limits: %v", err)
	}
	if _, err := first.AllowN(t.Context(), "k", 7); err != nil {
		t.Error(err)
	}
	with := first.With(twenty)
	if d, err := with.AllowN(t.Context(), "k", 5); err != nil || d.Remaining != 8 || with.Err() != nil {
		t.Errorf("With shares the counter: %+v, %v, %v", d, err, with.Err())
	}
	for _, bad := range []*headgate.Policy{l.Policy("a b", ten), l.Policy("", ten), nil} {
		if err := bad.With(twenty).Err(); !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("With does not make a name valid: %v", err)
		}
	}
	if err := l.Policy("other", twenty).Err(); err != nil {
		t.Error(err)
	}
	s := l.Semaphore("api", headgate.Concurrency{Units: 10})
	if err := l.Semaphore("api", headgate.Concurrency{Units: 11}).Err(); s.Err() != nil || !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("%v, %v", s.Err(), err)
	}
	if err := s.With(headgate.Concurrency{Units: 11}).Err(); err != nil {
		t.Error(err)
	}
	if err := headgate.New().Policy("api", twenty).Err(); err != nil {
		t.Errorf("another limiter: %v", err)
	}
}

// The names that a limiter remembers are bounded, for a program that makes a policy for each customer.
func TestNamesAreBounded(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	for i := range headgate.MaxNames + 1 {
		l.Policy(fmt.Sprint("customer-", i), headgate.NoLimit())
	}
	if err := l.Policy("customer-0", headgate.DenyAll()).Err(); err == nil {
		t.Error("an early name is forgotten")
	}
	if err := l.Policy(fmt.Sprint("customer-", headgate.MaxNames), headgate.DenyAll()).Err(); err != nil {
		t.Error(err)
	}
}
