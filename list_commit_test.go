package headgate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// A charge without Units costs 1 in every call that takes charges; it used to be free. NoUnits is free, and other
// negative numbers are errors (regression: bug 113).
func TestUnitsOfACharge(t *testing.T) {
	l, _ := onClock(t)
	ctx := context.Background()
	m := newLLM(l)
	one := headgate.Charge{Policy: m.requests, Key: "k"}
	if d, err := l.AllowAll(ctx, one); err != nil || d.Granted != 1 || d.Remaining != 59 {
		t.Errorf("AllowAll: %+v, %v", d, err)
	}
	if r := l.AllowEach(ctx, one)[0]; r.Err != nil || r.Decision.Remaining != 58 || r.Units != 1 {
		t.Errorf("AllowEach: %+v", r)
	}
	if _, d, err := l.ReserveAll(ctx, one, headgate.Charge{Semaphore: m.calls, Key: "k"}); err != nil || d.Limits[0].Remaining != 57 || d.Limits[1].Remaining != 1 {
		t.Errorf("ReserveAll: %+v, %v", d, err)
	}
	free := one
	free.Units = headgate.NoUnits
	if d, err := l.AllowAll(ctx, free); err != nil || d.Granted != 0 || d.Remaining != 57 {
		t.Errorf("NoUnits: %+v, %v", d, err)
	}
	if r := l.AllowEach(ctx, free)[0]; r.Err != nil || r.Units != 0 || r.Decision.Remaining != 57 {
		t.Errorf("NoUnits: %+v", r)
	}
	negative := one
	negative.Units = -1
	if r := l.AllowEach(ctx, negative)[0]; !errors.Is(r.Err, headgate.ErrInvalid) {
		t.Errorf("-1 units: %+v", r)
	}
	m.left(t, m.requests, "k", 57)
}

// One number does not settle several charges: 1500 tokens would use up a limit of 60 requests. It still settles a policy
// with several limits, and a list of one charge (regression: bug 116).
func TestCommitOfOneNumber(t *testing.T) {
	l, _ := onClock(t)
	ctx := context.Background()
	m := newLLM(l)
	r, _ := m.reserve(t, "ann", 4000)
	var input *engine.InputError
	if _, err := r.Commit(ctx, 1500); !errors.As(err, &input) || input.Field != "used" || input.Value != "1 numbers" {
		t.Errorf("one number for three charges: %v", err)
	}
	if err := r.Report(ctx, 1500); !errors.As(err, &input) || input.Field != "used" {
		t.Errorf("a report of one number for three charges: %v", err)
	}
	m.left(t, m.requests, "ann", 59)
	if _, err := r.Commit(ctx, 1, 1500, 1); err != nil {
		t.Error(err)
	}
	both := l.Policy("both", headgate.FixedWindow{Rate: headgate.PerMinute(9)}, headgate.FixedWindow{Rate: headgate.PerHour(90)})
	r, _, err := both.Reserve(ctx, "k", 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(ctx, 2); err != nil {
		t.Error(err)
	}
	r, _, err = l.ReserveAll(ctx, headgate.Charge{Policy: both, Key: "k", Units: 5})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(ctx, 1); err != nil {
		t.Error(err)
	}
	m.left(t, both, "k", 6)
}

// Actual units are given by the policy's name. A policy without a number keeps its charge, a permit is released, and an
// unknown or ambiguous name is an error.
func TestCommitNamed(t *testing.T) {
	l, _ := onClock(t)
	ctx := context.Background()
	m := newLLM(l)
	r, _ := m.reserve(t, "ann", 4000)
	var input *engine.InputError
	if _, err := r.CommitNamed(ctx, map[string]int64{"token": 1500}); !errors.As(err, &input) || input.Value != `"token"` || input.Accepted != "a policy of the reservation: requests, tokens" {
		t.Errorf("an unknown name: %v", err)
	}
	if dropped, err := r.CommitNamed(ctx, map[string]int64{"tokens": 1500}); err != nil || dropped != 0 {
		t.Errorf("%d dropped, %v", dropped, err)
	}
	m.left(t, m.requests, "ann", 59)
	m.left(t, m.tokens, "ann", 8500)
	m.left(t, m.calls, "org", 2)
	r, _, err := l.ReserveAll(ctx, headgate.Charge{Policy: m.tokens, Key: "a"}, headgate.Charge{Policy: m.tokens, Key: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.CommitNamed(ctx, map[string]int64{"tokens": 1}); !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("a name of two keys: %v", err)
	}
}

// Commit says how many used units it could not charge: at most one capacity beyond the limit is.
func TestCommitSaysWhatWasDropped(t *testing.T) {
	l, _ := onClock(t)
	ctx := context.Background()
	p := l.Policy("p", headgate.FixedWindow{Rate: headgate.PerMinute(10)})
	r, _, err := p.Reserve(ctx, "k", 5)
	if err != nil {
		t.Fatal(err)
	}
	if dropped, err := r.Commit(ctx, 35); err != nil || dropped != 15 {
		t.Errorf("%d of 35 dropped, %v; want 15 beyond twice the limit of 10", dropped, err)
	}
}

// A charge of 0 units cannot become more: a number above 0 is an error, which changes nothing, and no lost charge
// (regression: bug 283).
func TestUseOfAChargeOfNothing(t *testing.T) {
	l, ctx := headgate.New(), t.Context()
	defer func() { _ = l.Close() }()
	a := l.Policy("a", headgate.TokenBucket{Rate: headgate.PerHour(10)})
	b := l.Policy("b", headgate.FixedWindow{Rate: headgate.PerHour(10)}, headgate.SlidingLog{Rate: headgate.PerDay(10)})
	first := b.First()
	alone := func() (*headgate.Reservation, headgate.Decision, error) { return b.Charge(ctx, "k", 0) }
	listed := func() (*headgate.Reservation, headgate.Decision, error) {
		nothing := headgate.Charge{Policy: b, Key: "k", Units: headgate.NoUnits}
		return l.ReserveAll(ctx, headgate.Charge{Policy: a, Key: "k"}, nothing)
	}
	choice := func() (*headgate.Reservation, headgate.Decision, error) { return first.Charge(ctx, "k", 1) }
	commit := func(used ...int64) func(*headgate.Reservation) error {
		return func(r *headgate.Reservation) error { _, err := r.Commit(ctx, used...); return err }
	}
	named := func(r *headgate.Reservation) error {
		_, err := r.CommitNamed(ctx, map[string]int64{"b": 5})
		return err
	}
	report := func(r *headgate.Reservation) error { return r.Report(ctx, 5) }
	for name, c := range map[string]struct {
		reserve func() (*headgate.Reservation, headgate.Decision, error)
		settle  func(*headgate.Reservation) error
		field   string // of the error, or ""
	}{
		"alone":          {alone, commit(5), "used[0]"},
		"alone, named":   {alone, named, `used["b"]`},
		"alone, report":  {alone, report, "used[0]"},
		"alone, nothing": {alone, commit(0), ""},
		"listed":         {listed, commit(1, 5), "used[1]"},
		"listed, named":  {listed, named, `used["b"]`},
		"listed, other":  {listed, commit(2, 0), ""},
		"a choice":       {choice, commit(5), ""},
	} {
		r, d, err := c.reserve()
		if err != nil || r == nil {
			t.Fatal(name, d, err)
		}
		input, failed := errors.AsType[*engine.InputError](c.settle(r))
		if failed != (c.field != "") || failed && input.Field != c.field {
			t.Errorf("%s: %v, want an error of %q", name, input, c.field)
		}
		if err := r.Cancel(ctx); err != nil {
			t.Error(name, err)
		}
	}
}
