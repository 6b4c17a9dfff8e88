package headgate_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// While a lower class sends 20 times the rate, the higher class gets 90 % of the limit without a denial, and the
// limit is fully used. docs/fair-shares.md describes this case.
func TestLeavingUnderAFlood(t *testing.T) {
	l, clock := onClock(t)
	interactive := l.PolicyOf("api", rule.TokenBucket(rule.PerSecond(100), rule.Burst(200)))
	batch := interactive.LeavingPercent(10)
	const steps = 20 * 1000
	var denied, passed int64
	for step := range steps {
		clock.Advance(time.Millisecond)
		if (step+1)*9/100 > step*9/100 { // 90 a second
			d, err := interactive.Allow(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			if passed += d.Granted; !d.Allowed {
				denied++
			}
		}
		for range 2 { // 2000 a second
			d, err := batch.Allow(t.Context(), "k")
			if err != nil || d.Limit != 180 {
				t.Fatalf("%+v, %v", d, err)
			}
			passed += d.Granted
		}
	}
	if denied != 0 {
		t.Errorf("%d requests of the first class were denied", denied)
	}
	// At 100 a second with a burst of 200, for 20 s, at most the 20 units left for the higher class stay unused.
	if admitted := int64(200 + 100*20); passed < admitted-20 || passed > admitted {
		t.Errorf("%d passed, want %d, less up to 20", passed, admitted)
	}
}

// With a bucket, a warm-up and each kind of window, a class is denied if fewer units would remain than the class must
// leave.
func TestLeaving(t *testing.T) {
	for name, limit := range map[string]engine.Limit{
		"bucket":  rule.TokenBucket(rule.PerHour(10)),
		"debt":    rule.TokenBucket(rule.PerHour(10), rule.AllowDebt(5)),
		"warm-up": rule.WarmUp(rule.PerHour(10), 10*time.Hour, rule.Burst(10)),
		"fixed":   rule.FixedWindow(rule.PerHour(10)),
		"sliding": rule.SlidingWindow(rule.PerHour(10)),
		"log":     rule.SlidingLog(rule.PerHour(10), rule.And(rule.PerDay(30))),
	} {
		l, _ := onClock(t)
		all := l.PolicyOf("api", limit)
		class := all.LeavingPercent(25) // 3 of 10, 8 of 30
		if err := class.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, c := range []struct {
			p         *headgate.Policy
			units     int64
			allowed   bool
			remaining int64
		}{{class, 6, true, 1}, {class, 2, false, 1}, {all, 2, true, 2}, {class, 1, false, 0}, {all, 2, true, 0}} {
			d, err := c.p.AllowN(t.Context(), "k", c.units)
			if err != nil || d.Allowed != c.allowed || d.Remaining != c.remaining {
				t.Errorf("%s: %d units: %+v, %v; want %t with %d left", name, c.units, d, err, c.allowed, c.remaining)
			}
		}
	}
}

func TestLeavingRejects(t *testing.T) {
	l, _ := onClock(t)
	for name, p := range map[string]*headgate.Policy{
		"no unit left": l.PolicyOf("a", rule.FixedWindow(rule.PerHour(1))).LeavingPercent(1),
		"a pacer":      l.PolicyOf("a", rule.Pacer(rule.PerHour(1), rule.MaxQueue(5))).LeavingPercent(1),
		"next pays":    l.PolicyOf("a", rule.TokenBucket(rule.PerHour(9), rule.NextPays())).LeavingPercent(1),
		"equal limits": l.PolicyOf("a", rule.SlidingLog(rule.PerHour(2), rule.And(rule.PerDay(3)))).LeavingPercent(50),
		"all":          l.PolicyOf("a", rule.FixedWindow(rule.PerHour(1))).LeavingPercent(100),
		"negative":     l.PolicyOf("a", rule.FixedWindow(rule.PerHour(1))).LeavingPercent(-1),
		"huge":         l.PolicyOf("a", rule.FixedWindow(rule.PerHour(1))).LeavingPercent(math.MaxInt),
	} {
		if err := p.Err(); !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
