package algo_test

import (
	"strconv"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// BenchmarkAllow decides requests one after another on one state; about half of them pass. It includes the cost of
// calls through the table of algorithms.
func BenchmarkAllow(b *testing.B) {
	for _, text := range []string{
		"100/s", "pacer 100/s max_queue 10", "fixed-window 100/1s", "sliding-window 100/1s segments 10",
		"sliding-log 100/1s", "warm-up 100/s warm_up 10s", "unlimited",
	} {
		b.Run(text, func(b *testing.B) {
			limit, err := engine.ParseLimit(text)
			if err != nil {
				b.Fatal(err)
			}
			steps := make([]algo.Step, 1)
			var state algo.State
			now := int64(1_600_000_000_000_000)
			b.ReportAllocs()
			for b.Loop() {
				now += 5000
				steps[0] = algo.Step{Limit: limit.Numbers(), Cost: 1, State: state}
				algo.Allow(steps, algo.Instant{Now: now, Wall: now})
				if steps[0].Write {
					state = steps[0].State
				}
			}
		})
	}
}

// BenchmarkFastPath decides requests with Words.Allow, on states of two words, as the memory store does.
func BenchmarkFastPath(b *testing.B) {
	for _, text := range []string{"100/s", "fixed-window 100/1s"} {
		b.Run(text, func(b *testing.B) {
			limit, err := engine.ParseLimit(text)
			if err != nil {
				b.Fatal(err)
			}
			var words algo.Words
			var o algo.Outcome
			now := int64(1_600_000_000_000_000)
			b.ReportAllocs()
			for b.Loop() {
				now += 5000
				words.Allow(limit.Numbers(), now, 1, &o)
			}
		})
	}
}

func BenchmarkFairPermitsDenied(b *testing.B) {
	limit := algo.Limit{Algorithm: algo.FairConcurrency, Count: 100, Period: 60_000_000, Weight: 1}
	state := algo.State{}
	for i := range 93 {
		steps := []algo.Step{{Limit: &limit, Cost: 1, State: state, KeyHash: uint64(i%7 + 1)}}
		algo.Acquire(steps, algo.Instant{Now: int64(i)}, strconv.Itoa(i))
		state = steps[0].State
	}
	b.ReportAllocs()
	for b.Loop() {
		steps := []algo.Step{{Limit: &limit, Cost: 1, State: state, KeyHash: 1}}
		if algo.Acquire(steps, algo.Instant{Now: 100}, "x") {
			b.Fatal("allowed")
		}
	}
}
