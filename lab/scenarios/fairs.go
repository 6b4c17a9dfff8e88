package scenarios

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

var (
	divided       = rule.FairShare(rule.PerSecond(10), rule.Burst(20))
	dividedThrice = rule.FairShare(rule.PerSecond(10), rule.Burst(20), rule.Weight(3))
	dividedQueue  = rule.FairPacer(rule.PerSecond(10), rule.Burst(10), rule.MaxQueue(10))
	dividedSlots  = rule.FairPacer(rule.PerSecond(10), rule.MaxQueue(19))
	nested        = rule.FairShare(rule.PerSecond(10), rule.Burst(20), engine.Setting{Field: "nested"})
)

// by sets the step's key.
func (s step) by(key string) step {
	s.key = key
	return s
}

var _ = register([]scenario{
	{
		name: "fair shares", why: "all keys together pass as one bucket does; a key with units outstanding has no more of them than are left",
		steps: []step{
			take(divided, 1, yes(10, 0)).as(engine.OpPeek),
			take(divided, 11, no(10, never, 0)),
			take(divided, 10, yes(0, second)),
			take(divided, 1, no(0, 100*ms, second)),
			take(divided, 1, yes(4, 1100*ms)).by("bob"),
			take(divided, 5, no(4, 183204*time.Microsecond, 1100*ms)).by("bob"),
			take(divided, 9, want{allowed: true, reset: 1500 * ms, granted: 4}).as(engine.OpAtMost).by("bob"),
			take(divided, 1, no(0, 419922*time.Microsecond, 1500*ms)),
			take(divided, 3, no(2, 100*ms, 1500*ms)).by("carol"),
			take(divided, 2, yes(0, 1700*ms)).by("carol"),
			take(divided, 4, yes(3, 1300*ms)).of(5).by("bob"),
			take(divided, 3, yes(0, 1600*ms)).by("dave"),
			take(divided, 1, want{allowed: true, remaining: 1, reset: 1700 * ms}).by("{1}erin"),
			take(divided, 10, yes(0, second)).in(1700 * ms).by("dave"),
			take(divided, 1, yes(4, 1100*ms)),
		},
	},
	{
		name: "fair shares of the last units", why: "one unit of a key that has none outstanding passes as long as it is there, and braces in a key open no other bucket",
		steps: []step{
			take(divided, 10, yes(0, second)),
			take(divided, 5, yes(0, 1500*ms)).by("bob"),
			take(divided, 2, yes(0, 1700*ms)).by("carol"),
			take(divided, 1, yes(0, 1800*ms)).by("dave"),
			take(divided, 2, no(1, 200*ms, 1800*ms)).by("{1}erin"),
			take(divided, 1, yes(0, 1900*ms)).by("{1}erin"),
			take(divided, 1, yes(0, 2*second)).by("frank"),
			take(divided, 1, no(0, 100*ms, 2*second)).by("gina"),
		},
	},
	{
		name: "fair shares of a lone key", why: "a lone key has the whole rate, and half of the burst",
		steps: []step{
			take(divided, 1, yes(9, 100*ms)),
			take(divided, 9, yes(0, second)),
			take(divided, 1, yes(0, second)).in(100 * ms),
			take(divided, 1, yes(0, second)).in(100 * ms),
			take(divided, 1, no(0, time.Microsecond, 900*ms+time.Microsecond)).in(100*ms - time.Microsecond),
		},
	},
	{
		name: "fair shares by weight", why: "a key of weight 3 can have three times what is left",
		steps: []step{
			take(dividedThrice, 15, yes(0, 1500*ms)),
			take(dividedThrice, 1, no(0, 100*ms, 1500*ms)),
			take(divided, 1, no(0, 600*ms, 1500*ms)),
			take(dividedThrice, 1, yes(0, 1500*ms)).in(100 * ms),
			take(divided, 1, yes(1, 1600*ms)).by("bob"),
		},
	},
	{
		name: "fair shares and reservations", why: "what comes back is the key's that had it, and what was used beyond is charged",
		steps: []step{
			take(divided, 4, yes(6, 400*ms)),
			take(divided, 2, yes(6, 600*ms)).reserve(0).by("bob"),
			take(divided, 1, want{allowed: true, remaining: 7, reset: 500 * ms, granted: settledNow}).of(2).as(engine.OpSettle),
			take(divided, 1, yes(6, 600*ms)).reserve(0).by("bob"),
			take(divided, 25, want{allowed: true, reset: 3 * second, granted: settledNow}).of(4).as(engine.OpSettle),
		},
	},
	{
		name: "fair pacers", why: "burst and queue are divided as a burst of both is; what is beyond the burst waits for its slot, which is given back before it comes",
		steps: []step{
			take(dividedQueue, 1, yes(10, 0)).as(engine.OpPeek),
			take(dividedQueue, 11, no(10, never, 0)),
			take(dividedQueue, 10, yes(0, second)),
			take(dividedQueue, 1, no(0, 100*ms, second)),
			take(dividedQueue, 1, yes(4, 1100*ms).after(100*ms)).by("bob"),
			take(dividedQueue, 4, yes(0, 1500*ms).after(500*ms)).by("bob"),
			take(dividedQueue, 2, no(2, 100*ms, 1500*ms).after(700*ms)).reserve(600 * ms).by("carol"),
			take(dividedQueue, 1, yes(1, 1600*ms).after(600*ms)).reserve(second).by("carol"),
			take(dividedQueue, 0, want{allowed: true, remaining: 2, reset: 1500 * ms, granted: settledNow}).of(8).as(engine.OpSettle).by("carol"),
			take(dividedQueue, 1, yes(1, 1600*ms).after(600*ms)).by("dave"),
			take(dividedQueue, 1, yes(8, 200*ms)).in(1500 * ms).by("dave"),
		},
	},
	{
		name: "fair pacers and reservations", why: "the units before a caller that waits are not given back, because its slot stays where it is",
		steps: []step{
			take(dividedSlots, 2, yes(8, 200*ms).after(100*ms)).reserve(second),
			take(dividedSlots, 2, yes(7, 400*ms).after(300*ms)).reserve(second).by("bob"),
			take(dividedSlots, 0, want{allowed: true, remaining: 7, reset: 400 * ms, granted: settledNow}).of(1).as(engine.OpSettle),
			take(dividedSlots, 0, want{allowed: true, remaining: 9, reset: 200 * ms, granted: settledNow}).of(2).as(engine.OpSettle),
		},
	},
	{
		name: "nested fair shares", why: "groups share first, and then the keys of each; a key with a colon or without any is in the group of its first part",
		steps: []step{
			take(nested, 9, no(8, never, 0)).by("acme:alice"),
			take(nested, 8, yes(0, 800*ms)).by("acme:alice"),
			take(nested, 1, no(0, 11329*time.Microsecond, 800*ms)).by("acme:alice"),
			take(nested, 2, no(1, 25*ms, 800*ms)).by("acme:bob"),
			take(nested, 1, yes(0, 900*ms)).by("acme:bob"),
			take(nested, 1, yes(0, second)).by("acme"),
			take(nested, 5, no(4, 125*ms, second)).by(`acme\:bob:carol`),
			take(nested, 4, yes(0, 1400*ms)).by(`acme\:bob:carol`),
			take(divided, 1, yes(2, 1500*ms)).by("acme:bob"),
			take(nested, 3, yes(0, 1200*ms)).of(2).by("acme:alice"),
			take(nested, 1, yes(7, 200*ms)).in(1100 * ms).by("acme:alice"),
		},
	},
})
