package algo_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/raced"
)

// tokenTime is the refill time of one token in µs. It is 2, so that a wait of 1 µs refills half a token.
const tokenTime = 2

// Limits whose reservations need the record of returned units ([algo.Returns]).
var (
	bucket = algo.Limit{Algorithm: algo.TokenBucket, Count: 1, Period: tokenTime, Burst: 2}
	debt   = algo.Limit{Algorithm: algo.TokenBucket, Count: 1, Period: tokenTime, Burst: 2, Queue: 1}
	pays   = algo.Limit{Algorithm: algo.TokenBucket, Count: 1, Period: tokenTime, Burst: 2, NextPays: true}
	pacer  = algo.Limit{Algorithm: algo.Pacer, Count: 1, Period: tokenTime, Burst: 3, Queue: 5, HasQueue: true}
	fair   = algo.Limit{Algorithm: algo.FairShare, Count: 1, Period: tokenTime, Burst: 2, Weight: 100}
	warm   = algo.Limit{Algorithm: algo.WarmUp, Count: 1, Period: tokenTime, Burst: 2, WarmUp: 4 * tokenTime}
)

// everything is a number of units so large that giving them back resets the bucket.
const everything = 100

// No order of takes, reservations, settlements and waits admits more units in any span than the sum of burst, debt and
// refill. Each admitted unit counts at its caller's slot; returned units do not count. The test tries every order of a
// few operations. It also checks that the search finds an excess if the record of returns is lost.
func TestReturnsKeepTheBound(t *testing.T) {
	one, pair, three := []int64{1}, []int64{1, 2}, []int64{1, 3}
	for _, c := range []struct {
		name  string
		limit algo.Limit
		first []move
		depth int
		costs []int64
		lost  bool // the search is deep enough to exceed the bound if returns are not recorded
	}{
		{"bucket", bucket, nil, 7, pair, true},
		{"debt", debt, []move{{"take", 1, 0}, {"reserve", 1, 0}}, 5, pair, true},
		{"next pays", pays, []move{{"reserve", 1, 0}, {"reserve", 1, 0}}, 7, one, true},
		{"pacer", pacer, []move{{"take", 1, 0}, {"reserve", 3, 0}}, 5, three, true},
		{"fair share", fair, nil, 8, one, true},
		{"warm-up", warm, nil, 7, pair, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kept := orders{limit: &c.limit, costs: c.costs, keep: true, order: c.first}
			lost := orders{limit: &c.limit, costs: c.costs, order: slices.Clone(c.first)}
			depth := c.depth - raced.Size(0, 2)
			kept.try(depth)
			if lost.try(depth); kept.excess > 0 {
				t.Errorf("%d of %d orders exceed the bound, such as %v", kept.excess, kept.tried, kept.example)
			}
			t.Logf("%d orders; without the record %v exceeds; %d units came back", kept.tried, lost.example, kept.back)
			if lost.excess == 0 && c.lost && !raced.On { // orders are shorter with the race detector
				t.Error("no order exceeds the bound without the record")
			}
		})
	}
}

// Gives and resets are not in the record. A unit that they give back counts at most twice: once when it is given back,
// and once when a reservation that was open at that time still returns it.
func TestGivesCountAtMostTwice(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit algo.Limit
		first []move
		depth int
		costs []int64
	}{
		{"bucket", bucket, []move{{"take", 2, 0}, {"reserve", 1, 0}, {"reserve", 2, 0}}, 4, []int64{1, 2}},
		{"debt", debt, []move{{"take", 1, 0}, {"reserve", 1, 0}}, 5, []int64{1, 2}},
		{"next pays", pays, []move{{"reserve", 1, 0}, {"reserve", 1, 0}}, 5, []int64{1}},
		{"pacer", pacer, []move{{"take", 1, 0}, {"reserve", 3, 0}}, 5, []int64{1, 3}},
		{"fair share", fair, nil, 6, []int64{1}},
		{"warm-up", warm, nil, 6, []int64{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := orders{limit: &c.limit, costs: c.costs, gives: []int64{1, 2, everything}, keep: true, order: c.first}
			o.try(c.depth - raced.Size(0, 2))
			if t.Logf("%d orders", o.tried); o.excess > 0 {
				t.Errorf("%d of %d orders exceed the bound, such as %v", o.excess, o.tried, o.example)
			}
		})
	}
}

// orders is a search through all orders of operations.
type orders struct {
	limit *algo.Limit
	costs []int64
	gives []int64
	keep  bool // whether to keep the record; without it, the search ends at the first order that exceeds the bound
	order []move
	tried int

	excess  int
	example []move
	back    int64
}

// move is one operation in an order: a take or a reserve of n units, the settlement of reservation n with a number of
// used units, a wait of n µs, or a give of n units. A give of everything replaces a reset.
type move struct {
	kind string
	n    int64
	used int64
}

func (m move) String() string {
	if m.kind == "settle" {
		return fmt.Sprintf("settle %d with %d", m.n, m.used)
	}
	return fmt.Sprint(m.kind, " ", m.n)
}

func (o *orders) try(depth int) {
	if !o.keep && o.excess > 0 {
		return
	}
	b, ok := o.replay()
	if !ok {
		return
	}
	o.tried++
	if b.exceeded(o.limit) {
		if o.excess++; o.example == nil {
			o.example = slices.Clone(o.order)
		}
		return
	}
	if depth == 0 {
		o.back += b.back
		return
	}
	var next []move
	for _, n := range o.costs {
		next = append(next, move{"take", n, 0}, move{"reserve", n, 0})
	}
	if n := len(o.order); n > 0 && o.order[n-1].kind != "wait" {
		next = append(next, move{"wait", 1, 0}, move{"wait", 2, 0}, move{"wait", 3, 0})
	}
	for i, h := range b.held {
		// A caller that still waits for its slot has used nothing.
		for used := int64(0); !h.settled && (used == 0 || used < h.Units && b.now >= h.Slot); used++ {
			next = append(next, move{"settle", int64(i), used})
		}
	}
	for _, n := range o.gives {
		next = append(next, move{"give", n, 0})
	}
	for _, m := range next {
		o.order = append(o.order, m)
		o.try(depth - 1)
		o.order = o.order[:len(o.order)-1]
	}
}

// bench is a limit and its state after a sequence of moves.
type bench struct {
	state    algo.State
	record   algo.Returns
	now      int64
	held     []reserved
	admitted []admitted
	back     int64
	given    int64 // amount given back by gives and resets, in 1/period token
}

type reserved struct {
	algo.Held
	at      int // index in admitted
	settled bool
}

type admitted struct{ slot, units int64 }

// replay runs the order on a new limit. It reports false if the last move changes nothing.
func (o *orders) replay() (b bench, ok bool) {
	b.now, ok = 100, true
	for _, m := range o.order {
		switch m.kind {
		case "wait":
			b.now += m.n
		case "settle":
			b.settle(o, &b.held[m.n], m.used)
		case "give":
			ok = b.give(o.limit, m.n)
		default:
			ok = b.charge(o.limit, m.kind == "reserve", m.n)
		}
	}
	return b, ok
}

func (b *bench) charge(l *algo.Limit, reserve bool, n int64) bool {
	steps := []algo.Step{{Limit: l, Cost: n, State: b.state, KeyHash: uint64(len(b.admitted))}}
	now := algo.Instant{Now: b.now, Wall: b.now}
	if reserve && !algo.Reserve(steps, now, 10*tokenTime) || !reserve && !algo.Allow(steps, now) {
		return false
	}
	b.write(&steps[0])
	out := steps[0].Outcome
	held := algo.Held{Units: n, At: b.now, Slot: b.now + out.Delay, Ends: b.now + out.Reset}
	if b.admitted = append(b.admitted, admitted{held.Slot, n}); reserve {
		b.held = append(b.held, reserved{Held: held, at: len(b.admitted) - 1})
	}
	return true
}

func (b *bench) settle(o *orders, h *reserved, used int64) {
	steps := []algo.Step{{Limit: o.limit, Cost: used, State: b.state, Held: &h.Held, Returns: b.record}}
	before := b.missing(o.limit)
	algo.Settle(steps, algo.Instant{Now: b.now, Wall: b.now}, true, false)
	if o.keep {
		b.record = steps[0].Returns
	}
	b.write(&steps[0])
	h.settled = true
	b.admitted[h.at].units -= h.Units - used
	if back := (before - b.missing(o.limit)) / tokenTime; o.limit.Algorithm != algo.WarmUp {
		b.back += back
	}
}

// give gives n units back to the bucket, or resets the bucket if n is everything. It reports whether the bucket
// received any units.
func (b *bench) give(l *algo.Limit, n int64) bool {
	before := b.missing(l)
	if n == everything {
		b.state = algo.State{}
	} else {
		steps := []algo.Step{{Limit: l, Cost: n, State: b.state}}
		algo.Give(steps, algo.Instant{Now: b.now, Wall: b.now})
		b.write(&steps[0])
	}
	given := before - b.missing(l)
	b.given += given
	return given > 0
}

// missing returns the missing amount, in units of 1/period token.
func (b *bench) missing(l *algo.Limit) int64 {
	peek := []algo.Step{{Limit: l, State: b.state}}
	algo.Peek(peek, algo.Instant{Now: b.now, Wall: b.now})
	return peek[0].Outcome.Reset
}

func (b *bench) write(s *algo.Step) {
	if !s.Write {
		return
	}
	if b.state = s.State; s.TTL == 0 {
		b.state = algo.State{}
	}
}

// exceeded reports whether any span admitted more units than the sum of burst, debt, the span's refill and twice the
// units from gives and resets.
func (b *bench) exceeded(l *algo.Limit) bool {
	all := slices.DeleteFunc(slices.Clone(b.admitted), func(a admitted) bool { return a.units == 0 })
	slices.SortStableFunc(all, func(a, b admitted) int { return int(a.slot - b.slot) })
	most := l.Burst*tokenTime + 2*b.given
	if l.HasDebt() {
		most += l.Queue * tokenTime
	}
	for i := range all {
		sum := int64(0)
		for _, one := range all[i:] {
			before := sum
			if sum += one.units * tokenTime; l.NextPays {
				before, sum = sum, before // the last request of a span pays later
			}
			if sum > most+one.slot-all[i].slot {
				return true
			}
			if l.NextPays {
				sum = before
			}
		}
	}
	return false
}
