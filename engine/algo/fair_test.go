package algo_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headgate/headgate/engine/algo"
)

// client is a key that requests single units at random instants. rate is its average number of requests per second, and
// next is the instant of its next request.
type client struct {
	rate, next   float64
	asked, given int
	weight       int64
	group        uint64 // 0 if the limit is not nested
	first        bool   // its first request passed
}

// divide lets keys send requests for 20 s, and returns how many passed in total. It checks that a store can keep each
// state that occurs.
func divide(t *testing.T, rate, burst int64, keys ...*client) (total int) {
	t.Helper()
	total, _ = divideUnder(t, algo.Limit{Algorithm: algo.FairShare, Count: rate, Period: 1_000_000, Burst: burst}, keys...)
	return total
}

// divideUnder is like divide, for any limit. It also returns the longest delay of a request, in µs.
func divideUnder(t *testing.T, limit algo.Limit, keys ...*client) (total int, longest int64) {
	t.Helper()
	r, state := rand.New(rand.NewPCG(7, 0)), algo.State{}
	for _, k := range keys {
		k.next += r.ExpFloat64() / k.rate
	}
	for {
		k := slices.MinFunc(keys, func(a, b *client) int { return cmp.Compare(a.next, b.next) })
		if k.next >= 20 {
			return total, longest
		}
		limit := limit
		limit.Weight, limit.Nested = max(1, k.weight), k.group > 0
		steps := []algo.Step{{Limit: &limit, Cost: 1, State: state, KeyHash: k.group<<32 | uint64(slices.Index(keys, k)+1)}}
		k.asked++
		if algo.Allow(steps, algo.Instant{Now: int64(k.next * 1e6)}) {
			k.given++
			total++
			k.first = k.first || k.asked == 1
			state, longest = steps[0].State, max(longest, steps[0].Outcome.Delay)
			if _, err := algo.DecodeState(state.Append(nil)); err != nil {
				t.Fatal(err)
			}
		}
		k.next += r.ExpFloat64() / k.rate
	}
}

// jain returns Jain's fairness index, computed from each key's number of units divided by its fair part. 1 is perfectly
// fair.
func jain(total int, keys []*client) float64 {
	left, open := float64(total), slices.Clone(keys)
	slices.SortFunc(open, func(a, b *client) int { return a.asked - b.asked })
	var sum, squares float64
	for i, k := range open { // a key that requests less than an equal part of the rest gets everything it requests
		fair := min(float64(k.asked), left/float64(len(open)-i))
		left -= fair
		x := float64(k.given) / fair
		sum, squares = sum+x, squares+x*x
	}
	return sum * sum / float64(len(open)) / squares
}

func several(n int, rate func(i int) float64) (all []*client) {
	for i := range n {
		all = append(all, &client{rate: rate(i)})
	}
	return all
}

// TestFairUnderFlood simulates one key that floods and five that request too much. The keys that request little get at
// least 99.9 % of their requests, and a key that starts later passes at once.
func TestFairUnderFlood(t *testing.T) {
	late := &client{rate: 100, next: 10}
	good := several(10, func(int) float64 { return 20 })
	all := slices.Concat([]*client{{rate: 20_000}, late}, several(5, func(int) float64 { return 300 }), good)
	total := divide(t, 1000, 200, all...)
	denied, asked := 0, 0
	for _, k := range good {
		denied, asked = denied+k.asked-k.given, asked+k.asked
	}
	if total < 19_990 || total > 20_200 || jain(total, all) < 0.99 || denied*1000 > asked || !late.first {
		t.Errorf("%d passed of 20000 to 20200, Jain %.4f, %d of %d denied of the others; the late key's first passed: %t", total, jain(total, all), denied, asked, late.first)
	}
}

// TestFairPacerUnderFlood simulates the same keys, except the late one, under a pacer. The queue of a plain pacer is
// nearly always full of the flooding key's requests. Under a fair pacer, the keys that request little get at least 99.9
// % of their requests.
func TestFairPacerUnderFlood(t *testing.T) {
	for _, c := range []struct {
		algorithm      algo.Algorithm
		least, most    float64 // Jain's index
		fewest, denied float64 // the fraction of the modest keys' requests that are denied
	}{
		{algo.Pacer, 0, 0.2, 0.9, 1},
		{algo.FairPacer, 0.99, 1, 0, 0.001},
	} {
		good := several(10, func(int) float64 { return 20 })
		all := slices.Concat([]*client{{rate: 20_000}}, several(5, func(int) float64 { return 300 }), good)
		limit := algo.Limit{Algorithm: c.algorithm, Count: 1000, Period: 1_000_000, Burst: 1, Queue: 199, HasQueue: true}
		total, longest := divideUnder(t, limit, all...)
		modest := together(good...)
		denied, index := 1-float64(modest.given)/float64(modest.asked), jain(total, all)
		if total < 19_990 || total > 20_200 || longest > 199_000 || index < c.least || index > c.most || denied < c.fewest || denied > c.denied {
			t.Errorf("%s: %d passed, the longest delay is %d µs, Jain %.4f, %.4f of the modest requests denied", c.algorithm, total, longest, index, denied)
		}
		t.Logf("%s: flood %d, others %d, modest %.4f denied, longest delay %d µs, Jain %.4f", c.algorithm, all[0].given, all[1].given, denied, longest, index)
	}
}

// TestFairAmongMany simulates 60 keys that request many units, and 20 that request few.
func TestFairAmongMany(t *testing.T) {
	good := several(20, func(int) float64 { return 5 })
	all := append(several(60, func(i int) float64 { return 50 + 40*float64(i) }), good...)
	total := divide(t, 1000, 200, all...)
	denied, asked, first := 0, 0, 0
	for _, k := range good {
		denied, asked = denied+k.asked-k.given, asked+k.asked
		if k.first {
			first++
		}
	}
	if total < 19_990 || jain(total, all) < 0.99 || denied*100 > 8*asked || first < 20 {
		t.Errorf("%d passed, Jain %.4f, %d of %d denied, %d of 20 first requests passed", total, jain(total, all), denied, asked, first)
	}
}

// TestFairWithMadeUpKeys simulates a client that makes up n keys. It gets the parts of n keys, and the limit
// holds for all keys together.
func TestFairWithMadeUpKeys(t *testing.T) {
	for _, n := range []int{1, 10, 40} {
		honest := several(5, func(int) float64 { return 300 })
		made := several(n, func(int) float64 { return 20_000 / float64(n) })
		total := divide(t, 1000, 200, slices.Concat(honest, made)...)
		taken, part := together(made...).given, float64(total)/float64(n+len(honest))
		if total < 19_990 || total > 20_200 || float64(taken) > 1.1*float64(n)*part {
			t.Errorf("%d keys: %d of %d units, of %.0f for each key", n, taken, total, part)
		}
		for _, k := range honest {
			if float64(k.given) < 0.85*min(part, float64(k.asked)) {
				t.Errorf("%d keys: a key that is not made up gets %d units of %.0f", n, k.given, part)
			}
		}
	}
}

// TestFairByWeight simulates two keys that both want all units. The key of weight 3 gets three times as much as the key
// of weight 1.
func TestFairByWeight(t *testing.T) {
	three, one := &client{rate: 5000, weight: 3}, &client{rate: 5000}
	if divide(t, 1000, 200, three, one); three.given < 14_500 || three.given > 15_600 {
		t.Errorf("%d and %d", three.given, one.given)
	}
}

// A lone key gets the whole rate.
func TestFairAlone(t *testing.T) {
	for group := range uint64(2) {
		if total := divide(t, 1000, 200, &client{rate: 2000, group: group}); total < 19_990 {
			t.Errorf("group %d: %d", group, total)
		}
	}
}

// TestFairInGroups compares four groups: one flooding key, a flooding key with nine modest ones, ten greedy keys, and
// one modest key. The first three groups get nearly equal parts (Jain's index is at least 0.99), at most 0.1 % of the
// nine modest keys' requests are denied, and none of the last group's.
func TestFairInGroups(t *testing.T) {
	flood := &client{rate: 20_000, group: 1}
	beside, good := &client{rate: 5000, group: 2}, several(9, func(int) float64 { return 10 })
	many, small := several(10, func(int) float64 { return 300 }), &client{rate: 20, group: 4}
	for _, k := range good {
		k.group = 2
	}
	for _, k := range many {
		k.group = 3
	}
	total := divide(t, 1000, 400, slices.Concat([]*client{flood, beside, small}, good, many)...)
	second, third := together(append(good, beside)...), together(many...)
	goodly := together(good...)
	groups := []*client{{asked: flood.asked, given: flood.given}, second, third, small}
	if fair := jain(total, groups); total < 20_000 || fair < 0.99 || jain(third.given, many) < 0.99 || (goodly.asked-goodly.given)*1000 > goodly.asked || small.given < small.asked {
		t.Errorf("%d passed; groups %d, %d, %d, %d, Jain %.4f; %d of %d of the modest keys", total, flood.given, second.given, third.given, small.given, fair, goodly.given, goodly.asked)
	}
}

func together(keys ...*client) *client {
	all := &client{}
	for _, k := range keys {
		all.asked, all.given = all.asked+k.asked, all.given+k.given
	}
	return all
}
