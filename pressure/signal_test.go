package pressure

import (
	"slices"
	"testing"
	"time"
)

func TestSignals(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	base := func() reading {
		return reading{
			at: start, periods: 100, throttled: 10, memory: 500, limit: 1000, processors: 2,
			bounds: []float64{0.001, 0.01, 0.055, 1},
			waits:  []uint64{1000, 0, 0, 0},
		}
	}
	later := func(change func(r *reading)) (before, now reading) {
		before, now = base(), base()
		now.waits = slices.Clone(now.waits)
		now.at = start.Add(time.Second)
		change(&now)
		return before, now
	}
	for _, c := range []struct {
		about  string
		change func(r *reading)
		want   []Signal
	}{
		{"nothing", func(*reading) {}, []Signal{{"throttled", 0}, {"memory", 0}, {"waiting", 0}}},
		{"a quarter of the periods", func(r *reading) { r.periods, r.throttled = 104, 11 }, []Signal{{"throttled", 500}, {"memory", 0}, {"waiting", 0}}},
		{"all periods", func(r *reading) { r.periods, r.throttled = 104, 14 }, []Signal{{"throttled", 1000}, {"memory", 0}, {"waiting", 0}}},
		{"87.5 % of the memory", func(r *reading) { r.memory = 875 }, []Signal{{"throttled", 0}, {"memory", 500}, {"waiting", 0}}},
		{"all memory", func(r *reading) { r.memory = 1000 }, []Signal{{"throttled", 0}, {"memory", 1000}, {"waiting", 0}}},
		{"long waits, both processors used", func(r *reading) { r.cpu, r.waits[2] = 2*time.Second, 100 }, []Signal{{"throttled", 0}, {"memory", 0}, {"waiting", 500}}},
		{"long waits beside a busy neighbor", func(r *reading) { r.cpu, r.waits[3] = time.Second, 100 }, []Signal{{"throttled", 0}, {"memory", 0}, {"waiting", 0}}},
		{"one long wait of many", func(r *reading) { r.cpu, r.waits[0], r.waits[3] = 2*time.Second, 2000, 9 }, []Signal{{"throttled", 0}, {"memory", 0}, {"waiting", 0}}},
		{"neither quota nor limit", func(r *reading) { r.periods, r.limit = -1, -1 }, []Signal{{"waiting", 0}}},
	} {
		before, now := later(c.change)
		if got := signals(&before, &now); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.about, got, c.want)
		}
	}
}

// The level rises immediately, and falls one step after four lower readings.
func TestLevel(t *testing.T) {
	var l level
	for i, c := range []struct{ value, want int }{
		{0, 0},
		{1, 1},
		{250, 1},
		{251, 2},
		{1000, 4}, // up
		{0, 4},
		{0, 4},
		{0, 4},
		{0, 3}, // down
		{0, 3},
		{1000, 4},
		{0, 4},
		{0, 4},
		{0, 4},
		{600, 3},
		{600, 3},
		{501, 3},
		{0, 3},
		{0, 3},
		{0, 3},
		{0, 2},
	} {
		if l.follow([]Signal{{"memory", c.value}, {"waiting", 0}}); l.now != c.want {
			t.Fatalf("step %d: a signal of %d: level %d, want %d", i, c.value, l.now, c.want)
		}
	}
}
