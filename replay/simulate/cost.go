package simulate

import (
	"math"

	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

// Cost is what the limits cost a server.
type Cost struct {
	// Calls is how many calls of the store there were, one for each request with a route.
	// BusiestSecond is the most of them in one second of the clock.
	Calls         int64 `json:"store_calls"`
	BusiestSecond int64 `json:"store_calls_busiest_second"`
	// PeakStates is the most states that the store held at once, where each limit of a key
	// has one.
	PeakStates int64 `json:"peak_states"`
	// Memory and Redis are about how many bytes these states take in the memory store and
	// in Redis, by the table of docs/reference/running.md.
	Memory int64 `json:"memory_bytes"`
	Redis  int64 `json:"redis_bytes"`
}

// bytesOf returns what a state of a limit takes, in the memory store and in Redis: the
// table in docs/reference/running.md. A log is taken to hold half of its limit, and a
// sliding window all segments of its window.
func bytesOf(n *algo.Limit) (memory, redis int64) {
	switch a := n.Algorithm; {
	case a.Constant():
		return 0, 0
	case a.Holds():
		return 550, 900
	case a.CountsHits():
		return 42, 202
	case a.InWords():
		return 42, 218
	case a.KeepsTimes():
		return 250 + 16*(n.Count/2), 218 + 14*(n.Count/2)
	case n.Segment > 0:
		return 250 + 16*(n.Longest()/n.Segment+1), 218
	default:
		return 250, 218
	}
}

// cost works out what the limits cost. At the peak the states of the limits are taken to be
// as many in proportion as they are altogether.
func (t *tally) cost(c *policy.Config) Cost {
	cost := Cost{Calls: t.requests - t.unmatched, BusiestSecond: t.second.most}
	var sum, of states
	byCharges := map[uint64]int64{}
	for i := range t.keys.all {
		byCharges[t.keys.all[i].charges]++
	}
	for bits, keys := range byCharges {
		of = statesOf(c, t.charges, bits)
		sum.count += keys * of.count
		sum.memory += keys * of.memory
		sum.redis += keys * of.redis
	}
	if keys := int64(len(t.keys.all)); keys > 0 {
		share := float64(t.live.peak()) / float64(keys)
		part := func(n int64) int64 { return int64(math.Ceil(share * float64(n))) }
		cost.PeakStates, cost.Memory, cost.Redis = part(sum.count), part(sum.memory), part(sum.redis)
	}
	return cost
}

// states is the states of a key, and their bytes.
type states struct{ count, memory, redis int64 }

// statesOf returns the states of a key that had some of the charges.
func statesOf(c *policy.Config, charges []*route.Charge, bits uint64) (s states) {
	seen := map[string]bool{}
	for i, charge := range charges {
		if bits&(1<<min(i, maxCharges-1)) == 0 {
			continue
		}
		for _, name := range charge.Policies {
			p, ok := c.Policies.Get(name)
			if !ok || seen[name] {
				continue
			}
			seen[name] = true
			for _, charge := range p.Charges(nil, "", 1) {
				if memory, redis := bytesOf(charge.Limit.Numbers()); memory > 0 {
					s.count++
					s.memory += memory
					s.redis += redis
				}
			}
		}
	}
	return s
}

// live counts the keys that have a state, minute by minute.
type live struct {
	first  int64   // minute
	change []int64 // of the count, from minute to minute
}

const minute = 60 * micros

// maxMinutes bounds the minutes that are counted: 19 years.
const maxMinutes = 10_000_000

// add counts a state that lasts from an instant to another. before is when the state of the
// same key that came before it ends: 0 if there was none.
func (l *live) add(from, to, before int64) {
	if l.change == nil {
		l.first = from / minute
	}
	if from/minute <= before/minute {
		l.at(before/minute+1, +1) // it does not end there
	} else {
		l.at(from/minute, +1)
	}
	l.at(to/minute+1, -1)
}

func (l *live) at(minute, change int64) {
	i := minute - l.first
	if i >= maxMinutes {
		return
	}
	for int64(len(l.change)) <= i {
		l.change = append(l.change, 0)
	}
	l.change[i] += change
}

// peak returns the most keys with a state in one minute.
func (l *live) peak() (most int64) {
	count := int64(0)
	for _, change := range l.change {
		count += change
		most = max(most, count)
	}
	return most
}

// busiestSecond finds the most calls in one second.
type busiestSecond struct{ second, count, most int64 }

func (b *busiestSecond) add(now int64) {
	if second := now / micros; second != b.second {
		b.second, b.count = second, 0
	}
	b.count++
	b.most = max(b.most, b.count)
}
