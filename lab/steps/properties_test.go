package steps

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/storetest"
)

// machine is one limit with its state and its clock, now, in µs.
type machine struct {
	limit  engine.Limit
	stored algo.State
	now    int64
	whose  uint64
}

func (m *machine) steps(cost int64) []algo.Step {
	return []algo.Step{{Limit: m.limit.Numbers(), Cost: cost, State: m.stored, KeyHash: m.whose}}
}

func (m *machine) instant() algo.Instant { return algo.Instant{Now: m.now, Wall: m.now} }

func (m *machine) take(cost int64) (allowed bool, o algo.Outcome) {
	steps := m.steps(cost)
	allowed = algo.Allow(steps, m.instant())
	if steps[0].Write {
		m.stored = steps[0].State
	}
	return allowed, steps[0].Outcome
}

func (m *machine) peek(cost int64) (bool, algo.Outcome) {
	steps := m.steps(cost)
	return algo.Peek(steps, m.instant()), steps[0].Outcome
}

// bound is the number of units that a limit allows in any half-open span.
type bound struct {
	limit engine.Limit
	span  time.Duration
	most  int64
}

// bounds returns the bounds listed in the README's table.
func bounds() []bound {
	perSecond := rule.PerSecond(7)
	list := []bound{
		{rule.TokenBucket(perSecond, rule.Burst(3)), time.Second, 3 + 7},
		{rule.TokenBucket(perSecond), time.Second, 14},
		{rule.WarmUp(perSecond, 10*time.Second, rule.Burst(3)), time.Second, 3 + 7},
		{rule.WarmUp(perSecond, time.Second, rule.Burst(8)), time.Second, 8 + 7},
		{rule.FairShare(perSecond, rule.Burst(10)), time.Second, 10 + 7},
		{rule.FairShare(perSecond, rule.Burst(30), rule.Weight(9)), time.Second, 30 + 7},
		{rule.AdaptiveRate(perSecond, 1, 7, rule.Burst(3)), time.Second, 3 + 7},
		{rule.AdaptiveRate(perSecond, 2, 20, rule.Burst(3)), time.Second, 3 + 20},
		{rule.FixedWindow(perSecond), time.Second, 14},
		{rule.FixedWindow(perSecond, rule.Align("clock")), time.Second, 14},
		{rule.SlidingWindow(perSecond, rule.Weighted()), time.Second, 13},
		{rule.SlidingWindow(perSecond, rule.Segments(10), rule.Weighted()), 900 * time.Millisecond, 7},
		{rule.SlidingWindow(perSecond, rule.Segments(10), rule.Strict()), time.Second, 7},
		{rule.SlidingWindow(perSecond, rule.Segments(10), rule.Lenient()), 900 * time.Millisecond, 7},
		{rule.SlidingLog(perSecond), time.Second, 7},
		{rule.SlidingLog(rule.PerSecond(7), rule.And(rule.PerMinute(9))), time.Minute, 9},
	}
	var limits []engine.Limit
	for _, b := range list {
		limits = append(limits, b.limit)
	}
	for _, a := range storetest.Missing(limits) {
		l := storetest.Plain(a, perSecond, 3)
		list = append(list, bound{l, time.Second, l.Capacity() + max(l.Numbers().Refilled(1_000_000), l.Capacity())})
	}
	return list
}

// On random traces, no span admits more than promised, and a denied request passes exactly after its wait, not 1 µs
// earlier.
func TestBounds(t *testing.T) {
	for _, b := range bounds() {
		t.Run(b.limit.String(), rapid.MakeCheck(func(t *rapid.T) {
			m := &machine{limit: b.limit, now: 1_700_000_000_000_000}
			type spent struct{ at, units int64 }
			var trace []spent
			for range 60 {
				m.now += rapid.SampledFrom([]int64{0, 1, 99_999, 100_000, 142_857, 142_858, 333_333, 1_000_000}).Draw(t, "after")
				cost := rapid.Int64Range(1, 8).Draw(t, "cost")
				m.whose = rapid.Uint64Range(1, 4).Draw(t, "whose")
				passes, told := m.peek(cost)
				again, _ := m.peek(cost)
				allowed, o := m.take(cost)
				if passes != allowed || again != passes || told.Wait != o.Wait {
					t.Fatalf("peek said %t (then %t) and wait %d, take %t and %d", passes, again, told.Wait, allowed, o.Wait)
				}
				if allowed {
					trace = append(trace, spent{m.now, cost})
					checkSpan(t, b, func(yield func(at, units int64) bool) {
						for _, s := range trace {
							if !yield(s.at, s.units) {
								return
							}
						}
					})
					continue
				}
				checkWait(t, m, cost, o)
			}
		}))
	}
}

// checkSpan fails the test if the span that ends with the trace's last entry admitted more units than the bound.
func checkSpan(t *rapid.T, b bound, trace func(func(at, units int64) bool)) {
	t.Helper()
	last := int64(0)
	for at := range trace {
		last = at
	}
	sum := int64(0)
	for at, units := range trace {
		if at > last-b.span.Microseconds() {
			sum += units
		}
	}
	if sum > b.most {
		t.Fatalf("%s: %d units in %s, promised at most %d", b.limit, sum, b.span, b.most)
	}
}

func checkWait(t *rapid.T, m *machine, cost int64, o algo.Outcome) {
	t.Helper()
	if o.Wait == algo.Never {
		return
	}
	later := *m
	later.now += o.Wait - 1
	if early, _ := later.peek(cost); early {
		t.Fatalf("%s: passes 1 µs before its wait of %d µs", m.limit, o.Wait)
	}
	later.now++
	if due, _ := later.peek(cost); !due {
		t.Fatalf("%s: denied after its wait of %d µs", m.limit, o.Wait)
	}
}

// A request for n units is equivalent to n requests for one unit at the same instant, denials change nothing, and a
// give never exceeds the capacity. Two machines, one for each kind of request, must always give the same answers.
func TestTogether(t *testing.T) {
	for _, b := range bounds() {
		t.Run(b.limit.String(), rapid.MakeCheck(func(t *rapid.T) {
			whole := &machine{limit: b.limit, now: 1_700_000_000_000_000}
			parts := &machine{limit: b.limit, now: whole.now}
			for range 30 {
				whole.now += rapid.Int64Range(0, 400_000).Draw(t, "after")
				parts.now = whole.now
				n := rapid.Int64Range(1, 8).Draw(t, "n")
				allowed, o := whole.take(n)
				if !allowed {
					continue // only one machine received this request; its denial must have no effect
				}
				for range n {
					ok, each := parts.take(1)
					if !ok {
						t.Fatalf("%s: %d pass at once and not one by one", b.limit, n)
					}
					if each.Remaining < o.Remaining {
						t.Fatalf("%s: one by one leave %d, %d at once leave %d", b.limit, each.Remaining, n, o.Remaining)
					}
				}
				give := rapid.Int64Range(0, 10).Draw(t, "give")
				if a, b := whole.give(give), parts.give(give); a != b || a.Remaining > a.Limit {
					t.Fatalf("%s: after %d at once and a give of %d: %+v, one by one %+v", whole.limit, n, give, a, b)
				}
			}
		}))
	}
}

func (m *machine) give(n int64) algo.Outcome {
	steps := m.steps(n)
	algo.Give(steps, m.instant())
	if steps[0].Write {
		m.stored = steps[0].State
	}
	return steps[0].Outcome
}
