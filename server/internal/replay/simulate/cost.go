package simulate

import (
	"math"

	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

// Cost estimates the load that the limits put on a server and its store.
type Cost struct {
	// Calls is the number of store calls: one for each request that matches a route. BusiestSecond is the maximum
	// number of calls in one second.
	Calls         int64 `json:"store_calls"`
	BusiestSecond int64 `json:"store_calls_busiest_second"`
	// PeakStates is the maximum number of states in the store at any time. A limit has one state per key, or a single
	// state if it divides its units among keys.
	PeakStates int64 `json:"peak_states"`
	// Memory and Redis are the approximate sizes of these states in the memory store and in Redis, in bytes. They are
	// based on the table in docs/reference/running.md.
	Memory int64 `json:"memory_bytes"`
	Redis  int64 `json:"redis_bytes"`
}

// bytesOf returns the size of a limit's state in the memory store and in Redis, from the table in
// docs/reference/running.md. It assumes that a sliding log is half full, and that a sliding window uses all its
// segments.
func bytesOf(n *algo.Limit) (memory, redis int64) {
	switch a := n.Algorithm; {
	case a.Constant():
		return 0, 0
	case a.Holds():
		return 550, 900
	case a.CountsHits():
		return 42, 202
	case a.TwoWords():
		return 42, 218
	case a.KeepsTimes():
		return 250 + 16*(n.Count/2), 218 + 14*(n.Count/2)
	case n.Segment > 0:
		return 250 + 16*(n.Longest()/n.Segment+1), 218
	default:
		return 250, 218
	}
}

// cost computes the cost of the limits. It assumes the same mix of limits at the peak as over the whole log.
func (t *tally) cost(c *policy.Config) Cost {
	cost := Cost{Calls: t.requests - t.unmatched, BusiestSecond: t.second.most}
	var sum, of states
	byCharges := map[uint64]int64{}
	for i := range t.keys.all {
		byCharges[t.keys.all[i].charges]++
	}
	charged := uint64(0)
	for bits, keys := range byCharges {
		charged |= bits
		of = statesOf(c, t.charges, bits, false)
		sum.count += keys * of.count
		sum.memory += keys * of.memory
		sum.redis += keys * of.redis
	}
	if keys := int64(len(t.keys.all)); keys > 0 {
		share := float64(t.live.peak()) / float64(keys)
		part := func(n int64) int64 { return int64(math.Ceil(share * float64(n))) }
		all := statesOf(c, t.charges, charged, true)
		cost.PeakStates, cost.Memory, cost.Redis = part(sum.count)+all.count, part(sum.memory)+all.memory, part(sum.redis)+all.redis
	}
	return cost
}

// states holds the number of a key's states and their sizes.
type states struct{ count, memory, redis int64 }

// statesOf returns the states of a key that has used the charges in the bit set bits. If divided is true, it counts
// only limits that divide their units among keys. If divided is false, it counts only the other limits.
func statesOf(c *policy.Config, charges []*route.Charge, bits uint64, divided bool) (s states) {
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
				if memory, redis := bytesOf(charge.Limit.Numbers()); memory > 0 && charge.Limit.Algorithm().Divides() == divided {
					s.count++
					s.memory += memory
					s.redis += redis
				}
			}
		}
	}
	return s
}

// live counts the keys with a state, minute by minute.
type live struct {
	first  int64   // in minutes
	change []int64 // change in the count from one minute to the next
}

const minute = 60 * micros

// maxMinutes is the maximum number of minutes that are counted: about 19 years.
const maxMinutes = 10_000_000

// add counts a state that exists between two times. before is the end of the key's previous state, or 0.
func (l *live) add(from, to, before int64) {
	if l.change == nil {
		l.first = from / minute
	}
	if from/minute <= before/minute {
		l.at(before/minute+1, +1) // cancel the end of the previous state
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

// peak returns the maximum number of keys with a state in any minute.
func (l *live) peak() (most int64) {
	count := int64(0)
	for _, change := range l.change {
		count += change
		most = max(most, count)
	}
	return most
}

// busiestSecond finds the maximum number of calls in any second.
type busiestSecond struct{ second, count, most int64 }

func (b *busiestSecond) add(now int64) {
	if second := now / micros; second != b.second {
		b.second, b.count = second, 0
	}
	b.count++
	b.most = max(b.most, b.count)
}
