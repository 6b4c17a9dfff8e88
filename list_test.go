package headgate_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// llm contains the policies for a language model: a user's requests and tokens, and an organisation's concurrent
// calls.
type llm struct {
	*headgate.Limiter

	requests, tokens *headgate.Policy
	calls            *headgate.Semaphore
}

func newLLM(l *headgate.Limiter) llm {
	return llm{
		Limiter:  l,
		requests: l.PolicyOf("requests", rule.FixedWindow(rule.PerMinute(60))),
		tokens:   l.PolicyOf("tokens", rule.TokenBucket(rule.PerMinute(10_000))),
		calls:    l.SemaphoreOf("calls", rule.Concurrency(2)),
	}
}

func (m llm) reserve(t *testing.T, user string, tokens int64) (*headgate.Reservation, headgate.Decision) {
	t.Helper()
	r, d, err := m.ReserveAll(context.Background(),
		headgate.Charge{Policy: m.requests, Key: user, Units: 1},
		headgate.Charge{Policy: m.tokens, Key: user, Units: tokens},
		headgate.Charge{Semaphore: m.calls, Key: "org", Units: 1},
	)
	if err != nil || (r != nil) != d.Allowed {
		t.Fatalf("%v, %+v, %v", r, d, err)
	}
	return r, d
}

// peeker is implemented by policies and by semaphores.
type peeker interface {
	Peek(ctx context.Context, key string, n int64) (headgate.Decision, error)
}

func (m llm) left(t *testing.T, p peeker, key string, want int64) {
	t.Helper()
	d, err := p.Peek(context.Background(), key, 1)
	if err != nil || d.Remaining != want {
		t.Errorf("%s of %s: %d left, %v; want %d", d.Binding.Policy, key, d.Remaining, err, want)
	}
}

// One reservation covers all charges of a call to a language model. It is renewed and settled once, and the
// settlement states the units used for each charge.
func TestReserveTogether(t *testing.T) {
	l, clock := onClock(t)
	m, ctx := newLLM(l), context.Background()
	r, _ := m.reserve(t, "ann", 4000)
	clock.Advance(40 * time.Second)
	if err := r.Renew(ctx); err != nil {
		t.Fatal(err)
	}
	clock.Advance(15 * time.Second)
	again, err := l.Reservation(r.String())
	if err != nil {
		t.Fatal(err)
	}
	var input *engine.InputError
	if _, err := again.Commit(ctx, 1, 1500); !errors.As(err, &input) || input.Field != "used" {
		t.Error(err)
	}
	if _, err := again.Commit(ctx, 1, 9_000, 0); err != nil {
		t.Fatal(err)
	}
	m.left(t, m.requests, "ann", 59)
	m.left(t, m.tokens, "ann", 5000) // the bucket had refilled completely before the commit, which charged 5000 more units
	m.left(t, m.calls, "org", 2)
	clock.Advance(time.Minute)
	if err := r.Renew(ctx); !errors.Is(err, headgate.ErrEnded) {
		t.Error("a settled reservation holds a permit", err)
	}
}

// A denied call charges nothing, and the decision names the policy that denied it.
func TestReserveTogetherDenied(t *testing.T) {
	l, _ := onClock(t)
	m := newLLM(l)
	m.reserve(t, "ann", 10_000)
	if _, d := m.reserve(t, "ann", 1); d.Allowed || d.Binding.Policy != "tokens" || d.RetryAfter != 6*time.Millisecond {
		t.Errorf("%+v", d)
	}
	m.reserve(t, "bob", 1)
	if _, d := m.reserve(t, "cid", 1); d.Allowed || d.Binding.Policy != "calls" || len(d.Limits) != 3 {
		t.Errorf("%+v", d)
	}
	m.left(t, m.requests, "cid", 60)
	m.left(t, m.requests, "ann", 59)
}

// The sum of charges on one counter does not wrap: four charges of 2^62 units, or 2^63−1, 2^63−1 and 3, do not pass, and
// a commit of such numbers charges as much as it can (regression: bug 88).
func TestTogetherDoesNotWrap(t *testing.T) {
	l, _ := onClock(t)
	p, ctx := l.PolicyOf("p", rule.FixedWindow(rule.PerMinute(10))), context.Background()
	of := func(units ...int64) (charges []headgate.Charge) {
		for _, n := range units {
			charges = append(charges, headgate.Charge{Policy: p, Key: "k", Units: n})
		}
		return charges
	}
	for _, units := range [][]int64{{1 << 62, 1 << 62, 1 << 62, 1 << 62}, {math.MaxInt64, math.MaxInt64, 3}} {
		if d, err := l.AllowAll(ctx, of(units...)...); err != nil || d.Allowed || d.RetryAfter != headgate.Never {
			t.Errorf("%d: %+v, %v", units, d, err)
		}
		if r, d, err := l.ReserveAll(ctx, of(units...)...); err != nil || r != nil || d.Allowed {
			t.Errorf("%d: %+v, %v", units, d, err)
		}
	}
	r, _, err := l.ReserveAll(ctx, of(1, 1, 1, 1)...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(ctx, 1<<62, 1<<62, 1<<62, 1<<62); err != nil {
		t.Fatal(err)
	}
	if d, err := p.Peek(ctx, "k", 1); err != nil || d.Allowed || d.Remaining != 0 {
		t.Errorf("after a commit of 2^64 units: %+v, %v", d, err)
	}
}

// A list with a policy and its class, or with two versions of a limit, is decided by the stricter one, wherever it
// stands.
func TestTogetherDecidesByTheStricter(t *testing.T) {
	l, _ := onClock(t)
	ctx := context.Background()
	window, slow := l.PolicyOf("p", rule.FixedWindow(rule.PerMinute(10))), l.PolicyOf("b", rule.TokenBucket(rule.PerHour(10)))
	for i, pair := range [][2]*headgate.Policy{
		{window, window.LeavingPercent(50)},
		{l.PolicyOf("b", rule.TokenBucket(rule.PerSecond(10))), slow},
		{l.PolicyOf("b", rule.TokenBucket(rule.PerHour(10), rule.AllowDebt(5))), slow},
		{l.PolicyOf("log", rule.SlidingLog(rule.PerMinute(10), rule.And(rule.PerHour(50)))), l.PolicyOf("log", rule.SlidingLog(rule.PerMinute(10), rule.And(rule.PerHour(20))))},
	} {
		key := strconv.Itoa(i)
		for range 2 {
			d, err := l.PeekAll(ctx, headgate.Charge{Policy: pair[0], Key: key, Units: 2}, headgate.Charge{Policy: pair[1], Key: key, Units: 2})
			alone, _ := pair[1].Peek(ctx, key, 4)
			if i == 0 {
				alone, _ = window.LeavingPercent(50).Peek(ctx, key, 4)
			}
			if err != nil || d.Limit != alone.Limit || d.Remaining != alone.Remaining {
				t.Errorf("%d: %+v, %v; alone %+v", i, d, err, alone)
			}
			if d, err := l.AllowAll(ctx, headgate.Charge{Policy: pair[0], Key: key, Units: 3}, headgate.Charge{Policy: pair[1], Key: key, Units: 3}); i == 0 && (err != nil || d.Allowed) {
				t.Errorf("6 units of a class that has 5: %+v, %v", d, err)
			}
			pair[0], pair[1] = pair[1], pair[0]
			if i > 0 {
				break
			}
		}
	}
	fast := l.PolicyOf("b", rule.TokenBucket(rule.PerSecond(10)))
	for _, pair := range [][2]*headgate.Policy{{fast, slow}, {slow, fast}} {
		one, two := headgate.Charge{Policy: pair[0], Key: pair[0].Name(), Units: 5}, headgate.Charge{Policy: pair[1], Key: pair[0].Name(), Units: 5}
		if d, err := l.AllowAll(ctx, one, two); err != nil || d.ResetAfter < time.Minute {
			t.Errorf("of two rates the first decides: %+v, %v", d, err)
		}
		if _, err := slow.Reset(ctx, pair[0].Name()); err != nil {
			t.Fatal(err)
		}
	}
}

// Charges on one counter become one charge. It is settled with the sum of the units that they used.
func TestTogetherSums(t *testing.T) {
	l, _ := onClock(t)
	ctx := context.Background()
	p, q := l.PolicyOf("p", rule.FixedWindow(rule.PerMinute(10))), l.PolicyOf("q", rule.FixedWindow(rule.PerMinute(10)))
	charges := []headgate.Charge{{Policy: p, Key: "k", Units: 3}, {Policy: q, Key: "k", Units: 1}, {Policy: p, Key: "k", Units: 4}}
	if d, err := l.PeekAll(ctx, charges...); err != nil || !d.Allowed || d.Remaining != 10 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := l.AllowAll(ctx, charges...); err != nil || !d.Allowed || d.Remaining != 3 || len(d.Limits) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := l.AllowAll(ctx, charges...); err != nil || d.Allowed || d.Binding.Policy != "p" {
		t.Errorf("%+v, %v", d, err)
	}
	charges[0].Units, charges[2].Units = 2, 1
	r, _, err := l.ReserveAll(ctx, charges...)
	if err != nil || r == nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(ctx, 0, 1, 1); err != nil {
		t.Fatal(err)
	}
	if d, err := p.Peek(ctx, "k", 1); err != nil || d.Remaining != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}

// An invalid charge returns an error that names the charge, and nothing is charged.
func TestTogetherInvalid(t *testing.T) {
	l, _ := onClock(t)
	m := newLLM(l)
	other := newLLM(headgate.New())
	t.Cleanup(func() { _ = other.Close() })
	good := headgate.Charge{Policy: m.requests, Key: "k", Units: 1}
	for field, bad := range map[string]headgate.Charge{
		"policy":    {Policy: other.requests, Key: "k", Units: 1},
		"key":       {Policy: m.tokens, Units: 1},
		"Units":     {Policy: m.tokens, Key: "k", Units: -1},
		"semaphore": {Semaphore: m.calls, Key: "k", Units: 1},
	} {
		var input *engine.InputError
		var item *engine.ItemError
		if d, err := l.AllowAll(context.Background(), good, bad); !errors.As(err, &input) || input.Field != field || !errors.As(err, &item) || item.Item != 1 || d.Allowed {
			t.Errorf("%s: %+v, %v", field, d, err)
		}
	}
	for _, n := range []int{0, engine.MaxCharges + 1} {
		charges := make([]headgate.Charge, n)
		for i := range charges {
			charges[i] = headgate.Charge{Policy: m.requests, Key: string(rune('a' + i)), Units: 1}
		}
		if _, err := l.AllowAll(context.Background(), charges...); !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("%d charges: %v", n, err)
		}
	}
	m.left(t, m.requests, "k", 60)
}

// A list may contain at most one policy from First, and no other charge may use its limits. The error names the charge.
func TestFirstInAList(t *testing.T) {
	l, _ := onClock(t)
	month := rule.FixedWindow(rule.PerHour(3), rule.Named("month"))
	credits := rule.FixedWindow(rule.PerDay(2), rule.Named("credits"))
	calls, more := l.PolicyOf("calls", month, credits).First(), l.PolicyOf("more", month, credits).First()
	burst := l.PolicyOf("burst", rule.TokenBucket(rule.PerSecond(100)))
	charge := func(charges ...headgate.Charge) (headgate.Decision, error) {
		return l.AllowAll(t.Context(), charges...)
	}
	for i, want := range []string{"month", "month", "month", "credits", "credits", ""} {
		d, err := charge(headgate.Charge{Policy: burst, Key: "k", Units: 1}, headgate.Charge{Policy: calls, Key: "k", Units: 1})
		if err != nil || d.Paid != want || d.Allowed != (want != "") {
			t.Errorf("call %d: %+v, %v; want paid by %q", i, d, err, want)
		}
	}
	if d, err := burst.Peek(t.Context(), "k", 1); err != nil || d.Remaining != 95 {
		t.Errorf("five calls passed: %+v, %v", d, err)
	}
	for name, charges := range map[string][]headgate.Charge{
		"two":   {{Policy: calls, Key: "k", Units: 1}, {Policy: more, Key: "k", Units: 1}},
		"again": {{Policy: calls, Key: "k", Units: 1}, {Policy: calls, Key: "other", Units: 1}},
		"both":  {{Policy: calls, Key: "k", Units: 1}, {Policy: l.PolicyOf("calls", month), Key: "k", Units: 1}},
	} {
		var item *engine.ItemError
		if _, err := charge(charges...); !errors.As(err, &item) || item.Item != 1 || !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
