package algo_test

import (
	"testing"
	"unique"

	"github.com/headgate/headgate/engine/algo"
)

// step is one call on a key: its time, operation and units, and the expected answer.
type step struct {
	at    int64 // elapsed time in µs
	wall  int64 // the wall clock, if it differs
	limit int   // index into the table's limits
	op    string
	n     int64
	want  answer
}

type answer struct {
	allowed                       bool
	remaining, wait, reset, delay int64
}

// run replays a table of steps. Like a store, it passes the state from step to step.
func run(t *testing.T, limits []algo.Limit, steps []step) {
	t.Helper()
	var stored algo.State
	for i, s := range steps {
		now := algo.Instant{Now: s.at, Wall: s.at}
		if s.wall != 0 {
			now.Wall = s.wall
		}
		one := []algo.Step{{Limit: &limits[s.limit], Cost: s.n, State: stored}}
		allowed := do(one, now, s.op)
		o := one[0].Outcome
		if got := (answer{allowed, o.Remaining, o.Wait, o.Reset, o.Delay}); got != s.want {
			t.Errorf("step %d, %s %d at %d: %+v, want %+v", i, s.op, s.n, s.at, got, s.want)
		}
		if one[0].Write {
			if stored = one[0].State; one[0].TTL == 0 {
				stored = algo.State{}
			}
		}
	}
}

func do(steps []algo.Step, now algo.Instant, op string) (allowed bool) {
	const id = "holder"
	switch op {
	case "peek":
		return algo.Peek(steps, now)
	case "give":
		algo.Give(steps, now)
		return true
	case "acquire":
		return algo.Acquire(steps, now, id)
	case "acquire other":
		return algo.Acquire(steps, now, "other")
	case "renew":
		return algo.Renew(steps, now, id)
	case "release":
		return algo.Release(steps, now, id)
	default:
		return algo.Allow(steps, now)
	}
}

// windows returns the interned form of a list of windows, as the field Windows of a limit holds it.
func windows(list ...algo.Window) unique.Handle[algo.Windows] {
	w := algo.Windows{N: len(list)}
	copy(w.List[:], list)
	return unique.Make(w)
}

// Windows aligned to the clock follow the wall clock. All other windows follow elapsed time (rule 1).
func TestFixedSteps(t *testing.T) {
	run(t, []algo.Limit{{Algorithm: algo.FixedWindow, Align: algo.AlignClock, Count: 2, Period: 10}}, []step{
		{at: 100, wall: 205, op: "take", n: 2, want: answer{true, 0, 0, 5, 0}},
		{at: 101, wall: 206, op: "take", n: 1, want: answer{false, 0, 4, 4, 0}},
		{at: 110, wall: 207, op: "take", n: 1, want: answer{false, 0, 3, 3, 0}},
		{at: 111, wall: 210, op: "take", n: 1, want: answer{true, 1, 0, 10, 0}},
	})
	run(t, []algo.Limit{{Algorithm: algo.FixedWindow, Count: 2, Period: 10}}, []step{
		{at: 100, wall: 205, op: "take", n: 2, want: answer{true, 0, 0, 10, 0}},
		{at: 109, wall: 300, op: "take", n: 1, want: answer{false, 0, 1, 1, 0}},
		{at: 110, wall: 205, op: "take", n: 1, want: answer{true, 1, 0, 10, 0}},
	})
	// A window that starts before 1970 also starts before now.
	run(t, []algo.Limit{{Algorithm: algo.FixedWindow, Align: algo.AlignClock, Count: 2, Period: 10}}, []step{
		{at: -3, op: "take", n: 2, want: answer{true, 0, 0, 3, 0}},
		{at: -1, op: "take", n: 1, want: answer{false, 0, 1, 1, 0}},
	})
}

// Each of two versions of a sliding window counts the units charged under both, with its own windows and variant (rule
// 10).
func TestVersionsOfASlidingWindowCountTogether(t *testing.T) {
	window := func(variant algo.Variant, period int64) algo.Limit {
		return algo.Limit{Algorithm: algo.SlidingWindow, Variant: variant, Count: 6, Period: period, Segment: 10}
	}
	// Segment 0 is outside of the shorter window, but inside the longer one.
	run(t, []algo.Limit{window(algo.Strict, 60), window(algo.Strict, 30)}, []step{
		{at: 5, op: "take", n: 2, want: answer{true, 4, 0, 65, 0}},
		{at: 45, limit: 1, op: "take", n: 1, want: answer{true, 5, 0, 35, 0}},
		{at: 45, op: "peek", n: 4, want: answer{false, 3, 25, 65, 0}},
	})
	// At segment 3 the lenient variant ignores segment 0, but the strict one counts it.
	run(t, []algo.Limit{window(algo.Strict, 30), window(algo.Lenient, 30)}, []step{
		{at: 5, op: "take", n: 2, want: answer{true, 4, 0, 35, 0}},
		{at: 35, limit: 1, op: "take", n: 1, want: answer{true, 5, 0, 25, 0}},
		{at: 35, op: "peek", n: 1, want: answer{true, 3, 0, 35, 0}},
	})
	// A longer window does not count units that had already expired under every version.
	run(t, []algo.Limit{window(algo.Strict, 30), window(algo.Strict, 60)}, []step{
		{at: 5, op: "take", n: 2, want: answer{true, 4, 0, 35, 0}},
		{at: 25, op: "take", n: 1, want: answer{true, 3, 0, 35, 0}},
		{at: 45, limit: 1, op: "take", n: 1, want: answer{true, 4, 0, 65, 0}},
	})
}

// The log keeps entries for the longest window, regardless of its position in the list. Of the denied units that it
// counts, it keeps only the newest (rule 4 and section 6).
func TestLogSteps(t *testing.T) {
	two := windows(algo.Window{Limit: 10, Span: 100}, algo.Window{Limit: 2, Span: 10})
	run(t, []algo.Limit{{Algorithm: algo.SlidingLog, Count: 10, Period: 100, Several: two}}, []step{
		{at: 0, op: "take", n: 2, want: answer{true, 0, 0, 100, 0}},
		{at: 50, op: "take", n: 2, want: answer{true, 0, 0, 100, 0}},
		{at: 120, op: "take", n: 1, want: answer{true, 1, 0, 100, 0}},
	})
	counted := algo.Limit{Algorithm: algo.SlidingLog, Count: 3, Period: 10, CountDenied: true}
	raised := counted
	raised.Count = 10
	run(t, []algo.Limit{counted, raised}, []step{
		{at: 0, op: "take", n: 3, want: answer{true, 0, 0, 10, 0}},
		{at: 1, op: "take", n: 2, want: answer{false, 0, 10, 10, 0}},
		{at: 2, op: "take", n: 2, want: answer{false, 0, 10, 10, 0}},
		// Three units are kept: one from step 1 and two from step 2. The other unit is dropped.
		{at: 10, limit: 1, op: "peek", n: 1, want: answer{true, 7, 0, 2, 0}},
	})
}

// After the clock was set back, a permit lasts as long as one acquired now, and its holder can still be found (rule
// 8).
func TestLeaseSteps(t *testing.T) {
	limit := []algo.Limit{{Algorithm: algo.Concurrency, Count: 3, Period: 50}}
	run(t, limit, []step{
		{at: 100, op: "acquire", n: 3, want: answer{true, 0, 0, 50, 0}},
		{at: 20, op: "release", want: answer{true, 3, 0, 0, 0}},
		{at: 21, op: "release", want: answer{false, 3, 0, 0, 0}},
	})
	// A denial writes the shortened expiry.
	run(t, limit, []step{
		{at: 100, op: "acquire", n: 3, want: answer{true, 0, 0, 50, 0}},
		{at: 20, op: "acquire other", n: 1, want: answer{false, 0, 50, 50, 0}},
		{at: 70, op: "acquire other", n: 1, want: answer{true, 2, 0, 50, 0}},
	})
}

// An algorithm without steps, such as one under development, denies all requests. A missing case in a switch must not
// let requests through.
func TestAlgorithmWithoutStepsDenies(t *testing.T) {
	limit := algo.Limit{Algorithm: 255, Count: 10, Period: 1_000_000, Burst: 10}
	steps := []algo.Step{{Limit: &limit, Cost: 1}}
	if algo.Allow(steps, algo.Instant{}) || steps[0].Outcome.Wait != algo.Never {
		t.Errorf("allowed, or a wait of %d; want a denial with the wait Never", steps[0].Outcome.Wait)
	}
}

// The missing amount of a bucket is counted in fractions of units, and can exceed 64 bits.
func TestAmountsBeyond64Bits(t *testing.T) {
	const burst = 1<<32 - 1
	run(t, []algo.Limit{{Algorithm: algo.TokenBucket, Burst: burst, Count: burst, Period: 1 << 51}}, []step{
		{at: 0, op: "take", n: 4096, want: answer{true, burst - 4096, 0, 1<<31 + 1, 0}}, // 2^63 parts
		{at: 0, op: "take", n: 4096, want: answer{true, burst - 8192, 0, 1<<32 + 2, 0}}, // 2^64
		{at: 1, op: "peek", n: 1, want: answer{true, burst - 8192, 0, 1<<32 + 1, 0}},
		{at: 1, op: "take", n: burst, want: answer{false, burst - 8192, 1<<32 + 1, 1<<32 + 1, 0}},
	})
}

// The largest numbers of units are 2^100 parts.
func TestAmountsBeyond96Bits(t *testing.T) {
	const most = algo.MaxUnits
	run(t, []algo.Limit{{Algorithm: algo.TokenBucket, Burst: most, Count: most, Period: 36525 * 86_400_000_000}}, []step{
		{at: 0, op: "take", n: most, want: answer{true, 0, 0, 36525 * 86_400_000_000, 0}},
		{at: 0, op: "take", n: 1, want: answer{false, 0, 12, 36525 * 86_400_000_000, 0}},
		{at: 11, op: "take", n: 1, want: answer{false, 0, 1, 36525*86_400_000_000 - 11, 0}},
		{at: 12, op: "take", n: 1, want: answer{true, 0, 0, 36525 * 86_400_000_000, 0}},
	})
}

// A state written by a version with a longer window does not count as far ahead of the clock until that window is over
// (rule 8), so its units continue to count.
func TestClockRuleOfAShorterWindow(t *testing.T) {
	long := algo.Limit{Algorithm: algo.SlidingWindow, Variant: algo.Strict, Count: 1, Period: 100, Segment: 10}
	short := long
	short.Period = 20
	run(t, []algo.Limit{long, short}, []step{
		{at: 1000, op: "allow", n: 1, want: answer{allowed: true, reset: 110}},
		{at: 950, limit: 1, op: "allow", n: 1, want: answer{wait: 80, reset: 80}},
	})
}
