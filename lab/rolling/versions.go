package rolling

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/storetest"
)

// Interleavings is the number of interleavings for each algorithm in memory. On Redis, the number is a tenth as large.
// `make test-long` sets it to 10^5.
var Interleavings = flag.Int("interleavings", raced.Size(4_000, 400), "random interleavings of versions an algorithm")

// subjects is the number of interleavings that share a clock and are sent in the same calls.
const subjects = 100

func Run(t *testing.T, store engine.Store, clock *headgatetest.Clock, n int) {
	t.Helper()
	for name, draw := range Draws {
		for _, mode := range []string{"forward", "flaps", "far"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				for i := range max(1, n/subjects/3) {
					seed := *differential.Seed + uint64(i)
					interleave(t, store, clock, rand.New(rand.NewPCG(seed, 5)), fmt.Sprintf("%s-%s-%d", name, mode, seed), mode, draw)
				}
			})
		}
	}
}

// interleave runs interleavings in parallel with one clock.
func interleave(t *testing.T, store engine.Store, clock *headgatetest.Clock, r *rand.Rand, space, mode string, draw func(r *rand.Rand, least int64) []engine.Limit) {
	t.Helper()
	least := int64(12) // buckets take longer to fill than the clock goes back
	if mode == "forward" {
		least = 1
	}
	accounts := make([]*account, subjects)
	for i := range accounts {
		accounts[i] = newAccount(draw(r, least))
	}
	ops, results, flap := make([]engine.Op, subjects), make([]engine.Answer, subjects), time.Duration(0)
	for step := range 40 {
		clock.Advance(time.Duration(r.Int64N([]int64{1, 200, 700, 3000}[r.IntN(4)])) * time.Millisecond)
		switch {
		case mode == "flaps" && flap == 0 && r.IntN(3) == 0:
			flap = time.Duration(1+r.Int64N(450)) * time.Millisecond
			clock.Advance(-flap)
		case mode == "flaps" && r.IntN(2) == 0:
			clock.Advance(flap)
			flap = 0
		case mode == "far" && r.IntN(12) == 0:
			clock.Advance(-time.Hour)
		}
		for i, a := range accounts {
			a.version = r.IntN(len(a.limits))
			ops[i] = engine.Single(engine.OpAllow, fmt.Sprint(i), a.limits[a.version], a.cost(r))
			ops[i].Space = space
			if a.limits[0].Algorithm().Adapts() && r.IntN(2) == 0 {
				ops[i].Charges[0].Report = &algo.Report{Good: 10, Bad: r.Int64N(3)}
			}
			results[i] = engine.Answer{}
		}
		store.Do(context.Background(), ops, results)
		for i, a := range accounts {
			if err := a.check(clock.Now().UnixMicro(), ops[i].Charges[0].Cost, &results[i]); err != nil {
				t.Fatalf("space %s, step %d, subject %d, versions %v, take %d by version %d: %v\n%+v", space, step, i, a.limits, ops[i].Charges[0].Cost, a.version, err, results[i])
			}
		}
		raised(t, store, space, accounts, r)
	}
	clock.Advance(3 * time.Hour) // the remaining units no longer count
}

// raised checks that raising a limit has an immediate effect: under a larger version with the same rate, at least as
// many units are left as under the smaller version, plus the difference between their capacities.
func raised(t *testing.T, store engine.Store, space string, accounts []*account, r *rand.Rand) {
	t.Helper()
	i := r.IntN(subjects)
	a := accounts[i]
	var ops []engine.Op
	for _, l := range a.limits {
		op := engine.Single(engine.OpPeek, fmt.Sprint(i), l, 1)
		op.Space = space
		ops = append(ops, op)
	}
	results := make([]engine.Answer, len(ops))
	store.Do(context.Background(), ops, results)
	for j := range a.limits {
		small, large := &results[0], &results[j]
		if results[0].Err != nil || results[j].Err != nil {
			t.Fatal(results[0].Err, results[j].Err)
		}
		l, of := a.limits[0].Numbers(), a.limits[j].Numbers()
		if l.Count != of.Count || l.Period != of.Period || l.Variant != of.Variant || !l.Algorithm.Refills() || l.WarmUp > 0 || l.Weight > 0 {
			continue
		}
		if more := of.Burst - l.Burst; more > 0 && large.Binds().Remaining < more+small.Binds().Remaining && small.Binds().Remaining > 0 {
			t.Fatalf("%v leaves %d, %v %d", a.limits[0], small.Binds().Remaining, a.limits[j], large.Binds().Remaining)
		}
	}
}

// Draws maps each algorithm to a function that draws two or three limits with the same counter. An algorithm that is not
// in the list gets plain limits.
var Draws = everyAlgorithm(map[string]func(r *rand.Rand, least int64) []engine.Limit{
	"token-bucket": func(r *rand.Rand, least int64) []engine.Limit {
		return ofOne(r, func() engine.Limit {
			options := []engine.Setting{rule.Burst(least + r.Int64N(20))}
			if r.IntN(4) == 0 {
				options = append(options, rule.AllowDebt(1+r.Int64N(5)))
			}
			return rule.TokenBucket(rule.Per(1+r.Int64N(12), time.Duration(1+r.IntN(7))*time.Second), options...)
		})
	},
	"pacer": func(r *rand.Rand, least int64) []engine.Limit {
		rate := rule.Per(1+r.Int64N(12), time.Duration(1+r.IntN(7))*time.Second)
		return ofOne(r, func() engine.Limit {
			return rule.Pacer(rate, rule.Burst(least+r.Int64N(9)), rule.MaxQueue(r.Int64N(9)))
		})
	},
	"warm-up": func(r *rand.Rand, least int64) []engine.Limit {
		rate, over := rule.Per(1+r.Int64N(12), time.Second), time.Duration(2+r.IntN(20))*time.Second
		return ofOne(r, func() engine.Limit {
			return rule.WarmUp(rate, over, rule.Burst(least+r.Int64N(9)))
		})
	},
	// Each subject gets a bucket of its own, because the limit's name is unique.
	"fair-share": func(r *rand.Rand, least int64) []engine.Limit {
		rate, name := rule.Per(1+r.Int64N(12), time.Second), strconv.FormatUint(r.Uint64(), 36)
		return ofOne(r, func() engine.Limit {
			return rule.FairShare(rate, rule.Burst(10+least+r.Int64N(20)), rule.Weight(1+r.IntN(100)), rule.Named(name))
		})
	},
	"fair-pacer": func(r *rand.Rand, least int64) []engine.Limit {
		rate, name := rule.Per(1+r.Int64N(12), time.Second), strconv.FormatUint(r.Uint64(), 36)
		return ofOne(r, func() engine.Limit {
			return rule.FairPacer(rate, rule.Burst(10+least+r.Int64N(9)), rule.MaxQueue(1+r.Int64N(9)), rule.Weight(1+r.IntN(100)), rule.Named(name))
		})
	},
	"adaptive-rate": func(r *rand.Rand, least int64) []engine.Limit {
		period := time.Duration(1+r.IntN(7)) * time.Second
		return ofOne(r, func() engine.Limit {
			count := 1 + r.Int64N(12)
			return rule.AdaptiveRate(rule.Per(count, period), 1+r.Int64N(count), count+r.Int64N(9), rule.Burst(least+r.Int64N(20)),
				engine.Setting{Field: "interval", Span: 300 * time.Millisecond})
		})
	},
	"fixed-window": func(r *rand.Rand, least int64) []engine.Limit {
		period, options := time.Duration(1+r.IntN(7))*time.Second, []engine.Setting(nil)
		if r.IntN(2) == 0 {
			options = append(options, rule.Align("clock"))
		}
		return ofOne(r, func() engine.Limit {
			return rule.FixedWindow(rule.Per(1+r.Int64N(20), period), options...)
		})
	},
	"sliding-window": func(r *rand.Rand, least int64) []engine.Limit {
		segment := time.Duration(1+r.IntN(4)) * 250 * time.Millisecond
		return ofOne(r, func() engine.Limit {
			k := 2 + r.IntN(8)
			variant := []engine.Setting{rule.Weighted(), rule.Strict(), rule.Lenient()}[r.IntN(3)]
			return rule.SlidingWindow(rule.Per(1+r.Int64N(20), time.Duration(k)*segment), rule.Segments(k), variant)
		})
	},
	"sliding-log": func(r *rand.Rand, least int64) []engine.Limit {
		return ofOne(r, func() engine.Limit {
			return rule.SlidingLog(rule.Per(1+r.Int64N(20), time.Duration(1+r.IntN(9))*time.Second))
		})
	},
})

// everyAlgorithm adds an entry with plain limits for each algorithm that has none in draws.
func everyAlgorithm(draws map[string]func(r *rand.Rand, least int64) []engine.Limit) map[string]func(r *rand.Rand, least int64) []engine.Limit {
	for a := range storetest.Examples() {
		if draws[a.String()] == nil && !a.Holds() {
			draws[a.String()] = func(r *rand.Rand, least int64) []engine.Limit { return plain(r, a, least) }
		}
	}
	return draws
}

// plain draws plain limits. If the rate is part of the counter's name, they have the same rate.
func plain(r *rand.Rand, a algo.Algorithm, least int64) []engine.Limit {
	rate := func() engine.Rate { return rule.Per(1+r.Int64N(12), time.Duration(1+r.IntN(7))*time.Second) }
	first := rate()
	return ofOne(r, func() engine.Limit {
		burst := least + r.Int64N(20)
		l, other := storetest.Plain(a, first, burst), storetest.Plain(a, rate(), burst)
		if other.Numbers().Grid() == l.Numbers().Grid() {
			return other
		}
		return l
	})
}

// ofOne calls draw two or three times, and returns the drawn limits.
func ofOne(r *rand.Rand, draw func() engine.Limit) []engine.Limit {
	limits := make([]engine.Limit, 2+r.IntN(2))
	for i := range limits {
		limits[i] = draw()
	}
	return limits
}
