package algo_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/headgate/headgate/engine/algo"
)

// held is a permit and the instant when it ends, in seconds.
type held struct {
	ends float64
	id   string
	key  *client
}

// hold sends the keys' requests for permits until an instant. A key holds each permit for 100 ms on average, so 100
// permits are enough for 1000 calls a second. hold returns the number of requests that passed.
func hold(t *testing.T, algorithm algo.Algorithm, permits int64, until float64, keys ...*client) (total int) {
	t.Helper()
	r, state := rand.New(rand.NewPCG(7, 0)), algo.State{}
	var holders []held // ordered by their ends
	step := func(k *client) []algo.Step {
		limit := algo.Limit{Algorithm: algorithm, Count: permits, Period: 60_000_000}
		if algorithm == algo.FairConcurrency {
			limit.Weight = max(1, k.weight)
		}
		return []algo.Step{{Limit: &limit, Cost: 1, State: state, KeyHash: uint64(slices.Index(keys, k) + 1)}}
	}
	for _, k := range keys {
		k.next += r.ExpFloat64() / k.rate
	}
	for {
		k := slices.MinFunc(keys, func(a, b *client) int { return cmp.Compare(a.next, b.next) })
		if k.next >= until {
			return total
		}
		for len(holders) > 0 && holders[0].ends <= k.next {
			steps := step(holders[0].key)
			if !algo.Release(steps, algo.Instant{Now: int64(holders[0].ends * 1e6)}, holders[0].id) {
				t.Fatal("a permit is lost")
			}
			state, holders = steps[0].State, holders[1:]
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
			if k.given%64 == 0 {
				readBack(t, &state)
			}
			one := held{ends: k.next + r.ExpFloat64()/10, id: id, key: k}
			at, _ := slices.BinarySearchFunc(holders, one, func(a, b held) int { return cmp.Compare(a.ends, b.ends) })
			holders = slices.Insert(holders, at, one)
		}
		k.next += r.ExpFloat64() / k.rate
	}
}

func readBack(t *testing.T, state *algo.State) {
	t.Helper()
	back, err := algo.DecodeState(state.Append(nil))
	if err != nil || string(back.Append(nil)) != string(state.Append(nil)) {
		t.Fatal("the state does not read back", err)
	}
}

// denials returns the percentage of the keys' requests that were denied.
func denials(keys []*client) (percent float64) {
	denied, asked := 0, 0
	for _, k := range keys {
		denied, asked = denied+k.asked-k.given, asked+k.asked
	}
	return 100 * float64(denied) / float64(asked)
}

// TestFairPermitsUnderFlood puts the load of TestFairUnderFlood on 100 permits, and four times that load on 400
// permits. Under a plain concurrency limit, the keys with few requests would get little.
func TestFairPermitsUnderFlood(t *testing.T) {
	for _, c := range []struct {
		algorithm           algo.Algorithm
		permits             int64
		until, total, jain  float64
		leastDenied, denied float64 // in percent, for the keys that request little
	}{
		{algo.FairConcurrency, 100, 8, 900, 0.99, 0, 0.4},
		{algo.FairConcurrency, 400, 2, 3700, 0.99, 0, 0},
		{algo.Concurrency, 100, 4, 950, 0, 90, 100},
	} {
		scale := float64(c.permits) / 100
		late, good := &client{rate: 100 * scale, next: c.until / 2}, several(10, func(int) float64 { return 20 * scale })
		all := slices.Concat([]*client{{rate: 20_000 * scale}, late}, several(5, func(int) float64 { return 300 * scale }), good)
		total := hold(t, c.algorithm, c.permits, c.until, all...)
		rate, denied := float64(total)/c.until, denials(good)
		t.Logf("%s %d: %.0f a second, the flood %.0f, one of the five %.0f, Jain %.4f, %.2f %% of the others denied", c.algorithm, c.permits, rate,
			float64(all[0].given)/c.until, float64(all[2].given)/c.until, jain(total, all), denied)
		if rate < c.total || jain(total, all) < c.jain || denied < c.leastDenied || denied > c.denied || c.jain > 0 && !late.first {
			t.Errorf("want at least %.0f and Jain %.2f, at most %.1f %% denied, and the late key's first: %t", c.total, c.jain, c.denied, late.first)
		}
	}
}

// TestFairPermitsAmongMany simulates 60 keys that request many permits and 20 that request few. The division must be
// fair, and with 100 permits at most 40 % of the small keys' requests may be denied, with 400 permits 6 %.
func TestFairPermitsAmongMany(t *testing.T) {
	for permits, most := range map[int64]float64{100: 40, 400: 6} {
		scale := float64(permits) / 100
		good := several(20, func(int) float64 { return 5 * scale })
		all := append(several(60, func(i int) float64 { return (50 + 40*float64(i)) * scale }), good...)
		if total := hold(t, algo.FairConcurrency, permits, 1, all...); denials(good) > most || jain(total, all) < 0.9 {
			t.Errorf("%d permits: %.1f %% denied, Jain %.3f", permits, denials(good), jain(total, all))
		} else {
			t.Logf("%d permits: %.1f %% denied, Jain %.3f", permits, denials(good), jain(total, all))
		}
	}
}

// TestFairPermits simulates two keys of weights 3 and 1 that both want all permits, and then a lone key.
func TestFairPermits(t *testing.T) {
	three, one := &client{rate: 5000, weight: 3}, &client{rate: 5000}
	if hold(t, algo.FairConcurrency, 100, 4, three, one); three.given*10 < one.given*27 || three.given*10 > one.given*33 {
		t.Errorf("with weights 3 and 1: %d and %d", three.given, one.given)
	}
	lone := &client{rate: 5000}
	if hold(t, algo.FairConcurrency, 100, 4, lone); lone.given < 3_600 {
		t.Errorf("a lone key had %d of 4000", lone.given)
	}
}
