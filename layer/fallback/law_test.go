package fallback_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
)

// passed is an admitted request of an adversary.
type passed struct {
	at    int64
	units int64
	// promise is that of the answer.
	promise engine.Promise
}

// adversary asks for a key of a limit in all processes, as much as passes.
type adversary struct {
	limit engine.Limit
	key   string
	all   []passed
	open  []reserved
}

// reserved is a reservation of an adversary that is not settled.
type reserved struct {
	*engine.Reservation

	passed int // its index in adversary.all
}

// ask sends a random request to one of the processes.
func (a *adversary) ask(t *testing.T, r *rand.Rand, p *process) {
	t.Helper()
	op := engine.Single(engine.OpAllow, a.key, a.limit, 1+r.Int64N(3))
	op.Space = "s"
	answer := do(t, p.store, op)
	if answer.Err != nil || !answer.Allowed {
		return
	}
	a.all = append(a.all, passed{time.Now().UnixMicro(), op.Charges[0].Cost, answer.Promise})
}

// take takes all units that there are.
func (a *adversary) take(t *testing.T, p *process) {
	t.Helper()
	op := engine.Single(engine.OpAtMost, a.key, a.limit, a.limit.Capacity())
	op.Space = "s"
	if answer := do(t, p.store, op); answer.Err == nil && answer.Granted > 0 {
		a.all = append(a.all, passed{time.Now().UnixMicro(), answer.Granted, answer.Promise})
	}
}

// reserve reserves a random number of units.
func (a *adversary) reserve(t *testing.T, r *rand.Rand, p *process) {
	t.Helper()
	op := engine.Single(engine.OpReserve, a.key, a.limit, 1+r.Int64N(a.limit.Capacity()))
	op.Space = "s"
	if answer := do(t, p.store, op); answer.Err == nil && answer.Allowed {
		a.open = append(a.open, reserved{answer.Reservation(&op, fmt.Sprint(len(a.all))), len(a.all)})
		a.all = append(a.all, passed{time.Now().UnixMicro(), op.Charges[0].Cost, answer.Promise})
	}
}

// settle settles a random reservation with fewer units than it reserved.
func (a *adversary) settle(t *testing.T, r *rand.Rand, p *process) {
	t.Helper()
	if len(a.open) == 0 {
		return
	}
	i := r.IntN(len(a.open))
	of := a.open[i]
	a.open = slices.Delete(a.open, i, i+1)
	used := r.Int64N(a.all[of.passed].units)
	if answer := do(t, p.store, of.Settle(used)); answer.Err == nil && answer.Found {
		a.all[of.passed].units = used
	}
}

// check compares what passed in each span of the limit's own time, from each of the requests on, with what the limit
// admits, the largest excess that the answers in the span state, and once more its capacity for each of the causes in it.
func (a *adversary) check(t *testing.T, span time.Duration, admits func(time.Duration) int64, causes []int64) {
	t.Helper()
	capacity := a.limit.Numbers().MostCharged()
	for from := range a.all {
		units, stated, began := int64(0), int64(0), a.all[from].at
		for _, p := range a.all[from:] {
			since := time.Duration(p.at-began) * time.Microsecond
			if since >= span {
				break
			}
			units += p.units
			if p.promise.Mode == engine.Fallback {
				stated = max(stated, p.promise.OvershootMax)
			}
			more := int64(0)
			for _, at := range causes {
				if began <= at && at <= p.at {
					more += capacity
				}
			}
			if most := admits(since) + stated + more; units > most {
				t.Fatalf("%s: %d units in %s; the limit admits %d, the answers state %d more, and causes are %d", a.limit, units, since, admits(since), stated, more)
			}
		}
	}
}

// target is a limit that adversaries attack, its own time, and what it admits in a span.
type target struct {
	limit  engine.Limit
	span   time.Duration
	admits func(time.Duration) int64
}

// attack runs an attack on each of the targets, in virtual time and with each seed. The attack returns the causes that let
// a capacity more through.
func attack(t *testing.T, seeds int, targets map[string]target, run func(t *testing.T, seed uint64, c target, a *adversary) (causes []int64)) {
	t.Helper()
	for name, c := range targets {
		for seed := range uint64(seeds) { //nolint:gosec // a small number
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := adversary{limit: c.limit, key: "k"}
					causes := run(t, seed, c, &a)
					a.check(t, c.span, c.admits, causes)
				})
			})
		}
	}
}

// TestLaw attacks section 9 of the rules: three processes, of which some start during an outage, random outages, losses of
// all data, and callers that ask for as much as passes. In no span of the limit's own time do more units pass than the
// limit admits and the answers in the span state. Each loss, and each further outage after a restart, can add a capacity.
func TestLaw(t *testing.T) {
	attack(t, raced.Size(20, 5), map[string]target{
		"bucket": {rule.TokenBucket(rule.PerSecond(2), rule.Burst(20)), 10 * time.Second, func(d time.Duration) int64 { return 20 + int64(2*d.Seconds()) + 1 }},
		"window": {rule.FixedWindow(rule.PerMinute(30), rule.Align("clock")), time.Minute, func(time.Duration) int64 { return 60 }}, // a span can overlap two windows
		"log":    {rule.SlidingLog(rule.PerMinute(30)), time.Minute, func(time.Duration) int64 { return 30 }},
		"below":  {rule.SlidingLog(rule.PerMinute(2)), time.Minute, func(time.Duration) int64 { return 2 }},
	}, func(t *testing.T, seed uint64, c target, a *adversary) (causes []int64) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := newServer(t)
		all := s.start(t, 3, fallback.Config{Expect: 3})
		defer func() { end(t, all) }()
		away, restarted := false, false
		for range 60 {
			for range 30 {
				a.ask(t, r, &all[r.IntN(len(all))])
				time.Sleep(time.Duration(r.Int64N(int64(c.span / 200))))
			}
			switch event := r.IntN(10); {
			case event < 4:
				if away = !away; away {
					s.set(headgate.ErrStoreUnavailable, false)
				} else {
					s.set(nil, false)
				}
				if away && restarted { // a process that was started since the last outage has a whole share again
					causes = append(causes, time.Now().UnixMicro())
				}
				restarted = restarted && !away
			case event == 4 && away:
				end(t, all[:1])
				fresh, err := fallback.New(s, join(t, s, s.clock), fallback.Config{Expect: 3})
				if err != nil {
					t.Fatal(err)
				}
				all[0].store, restarted = fresh, true
			case event == 5:
				s.lose(t)
				causes = append(causes, time.Now().UnixMicro())
			}
		}
		return causes
	})
}

// TestLawOfReservations attacks what a settlement gives back, across losses of all data. Callers of two processes take what
// there is, reserve, settle reservations with less than they reserved, and pause for long enough that limits recover and
// the store and a process's memory of it have refilled by different amounts (regression: bug 190).
func TestLawOfReservations(t *testing.T) {
	attack(t, raced.Size(100, 20), map[string]target{
		"bucket": {rule.TokenBucket(rule.PerMinute(20), rule.Burst(10)), 30 * time.Second, func(d time.Duration) int64 { return 10 + int64(d.Seconds()/3) + 1 }},
		"window": {rule.FixedWindow(rule.PerMinute(10), rule.Align("clock")), time.Minute, func(time.Duration) int64 { return 20 }},
		"log":    {rule.SlidingLog(rule.PerMinute(10)), time.Minute, func(time.Duration) int64 { return 10 }},
	}, func(t *testing.T, seed uint64, c target, a *adversary) (losses []int64) {
		r := rand.New(rand.NewPCG(seed, 10))
		s := newServer(t)
		all := s.start(t, 1+int(seed%2), fallback.Config{Expect: 2})
		defer func() { end(t, all) }()
		for range 40 {
			p := &all[r.IntN(len(all))]
			switch event := r.IntN(8); {
			case event < 3:
				a.reserve(t, r, p)
			case event < 6: // nothing is left before, and what is left afterwards was given back
				a.take(t, p)
				a.settle(t, r, p)
				a.take(t, p)
			default:
				a.take(t, p)
				s.lose(t)
				losses = append(losses, time.Now().UnixMicro())
				time.Sleep(2 * time.Second) // until it is noticed
			}
			time.Sleep(time.Duration(r.Int64N(2)) * time.Duration(r.Int64N(int64(c.span))))
		}
		return losses
	})
}
