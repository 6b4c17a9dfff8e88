package algo_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/headgate/headgate/engine/algo"
)

// held is a permit that ends at an instant, in seconds.
type held struct {
	ends float64
	id   string
	key  *asker
}

// hold lets keys ask for 20 s for one of 100 permits, each of which they hold for 100 ms on average: 1000 a second. It
// returns what passed in all.
func hold(t *testing.T, algorithm algo.Algorithm, keys ...*asker) (total int) {
	t.Helper()
	r, state := rand.New(rand.NewPCG(7, 0)), algo.State{}
	var permits []held // by their end
	step := func(k *asker) []algo.Step {
		limit := algo.Limit{Algorithm: algorithm, Count: 100, Period: 60_000_000}
		if algorithm == algo.FairConcurrency {
			limit.Weight = max(1, k.weight)
		}
		return []algo.Step{{Limit: &limit, Cost: 1, State: state, Whose: uint64(slices.Index(keys, k) + 1)}}
	}
	for _, k := range keys {
		k.next += r.ExpFloat64() / k.rate
	}
	for {
		k := slices.MinFunc(keys, func(a, b *asker) int { return cmp.Compare(a.next, b.next) })
		if k.next >= 20 {
			return total
		}
		for len(permits) > 0 && permits[0].ends <= k.next {
			steps := step(permits[0].key)
			if !algo.Release(steps, algo.Instant{Now: int64(permits[0].ends * 1e6)}, permits[0].id) {
				t.Fatal("a permit is lost")
			}
			state, permits = steps[0].State, permits[1:]
		}
		k.asked++
		steps, id := step(k), strconv.Itoa(k.asked)
		if algorithm == algo.Concurrency {
			id += " of " + strconv.Itoa(slices.Index(keys, k))
		}
		if algo.Acquire(steps, algo.Instant{Now: int64(k.next * 1e6)}, id) {
			k.given++
			total++
			k.first = k.first || k.asked == 1
			state = steps[0].State
			if back, err := algo.DecodeState(state.Append(nil)); err != nil || string(back.Append(nil)) != string(state.Append(nil)) {
				t.Fatal("the state does not read back", err)
			}
			one := held{ends: k.next + r.ExpFloat64()/10, id: id, key: k}
			at, _ := slices.BinarySearchFunc(permits, one, func(a, b held) int { return cmp.Compare(a.ends, b.ends) })
			permits = slices.Insert(permits, at, one)
		}
		k.next += r.ExpFloat64() / k.rate
	}
}

// TestFairPermitsUnderFlood: the case of TestFairUnderFlood. With common permits the keys that ask for little get little.
func TestFairPermitsUnderFlood(t *testing.T) {
	keys := func() (late *asker, good, all []*asker) {
		late, good = &asker{rate: 100, next: 10}, several(10, func(int) float64 { return 20 })
		return late, good, slices.Concat([]*asker{{rate: 20_000}, late}, several(5, func(int) float64 { return 300 }), good)
	}
	denials := func(keys []*asker) (percent float64) {
		denied, asked := 0, 0
		for _, k := range keys {
			denied, asked = denied+k.asked-k.given, asked+k.asked
		}
		return 100 * float64(denied) / float64(asked)
	}
	late, good, all := keys()
	total := hold(t, algo.FairConcurrency, all...)
	t.Logf("fair: %d passed, the flood %d, each of the five %d, Jain %.4f, %.2f %% of the others denied", total, all[0].given, all[2].given, jain(total, all), denials(good))
	if total < 17_900 || jain(total, all) < 0.99 || denials(good) > 0.3 || !late.first {
		t.Errorf("%d passed, Jain %.4f, %.2f %% of the others denied; the late key's first passed: %t", total, jain(total, all), denials(good), late.first)
	}
	_, good, all = keys()
	total = hold(t, algo.Concurrency, all...)
	t.Logf("common: %d passed, the flood %d, each of the five %d, Jain %.4f, %.2f %% of the others denied", total, all[0].given, all[2].given, jain(total, all), denials(good))
	if denials(good) < 90 {
		t.Errorf("common permits denied only %.2f %%", denials(good))
	}
}

// TestFairPermits: two keys, of weight 3 and 1, that both want all; and a lone key.
func TestFairPermits(t *testing.T) {
	three, one := &asker{rate: 5000, weight: 3}, &asker{rate: 5000}
	if hold(t, algo.FairConcurrency, three, one); three.given*10 < one.given*27 || three.given*10 > one.given*33 {
		t.Errorf("with weights 3 and 1: %d and %d", three.given, one.given)
	}
	lone := &asker{rate: 5000}
	if hold(t, algo.FairConcurrency, lone); lone.given < 17_000 {
		t.Errorf("a lone key had %d of 20000", lone.given)
	}
}
