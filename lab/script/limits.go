package script

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/headgate/headgate/lab/model"
)

const (
	ms   = int64(1_000)
	sec  = 1_000 * ms
	day  = 86_400 * sec
	year = 365 * day
)

var (
	counts    = []int64{1, 2, 3, 5, 7, 10, 100, 600, 1_000, 150_000, 1_234_567}
	bigCounts = []int64{999_999_937, 1<<32 - 1, 1 << 32, 1_000_000_000_000, model.MaxUnits/2 + 1, 281_474_976_710_597, model.MaxUnits}
	periods   = []int64{ms, 500 * ms, sec, 7 * sec, 60 * sec, 3_600 * sec, day}
	bigSpans  = []int64{30 * day, 366 * day, 10 * year, 50 * year, 100 * year}
	bursts    = []int64{1, 2, 5, 8, 10, 40}
	segments  = []int64{1, 1, 2, 4, 10, 50}
	variants  = []string{model.Weighted, model.Weighted, model.Strict, model.Lenient}
	zones     = []string{"UTC", "Asia/Kolkata", "America/New_York", "Australia/Lord_Howe"}
	calendars = map[string]int64{
		"1m": 60 * sec, "1h": 3_600 * sec, "1d": day, "1w": 7 * day, "1mo": 31 * day, "1y": 366 * day,
	}
	anchors       = []string{"", "2026-01-31", "2024-02-29T17:30"}
	calendarUnits = []string{"1m", "1h", "1d", "1w", "1mo", "1y"}
)

// drawing configures how random limits of an algorithm are generated. Each algorithm's file registers one.
type drawing struct {
	draw func(r *rand.Rand, l *model.Limit, opts Options)
	// onGrid moves a limit to another limit's grid. It is nil if the algorithm has no grid.
	onGrid func(r *rand.Rand, of model.Limit, l *model.Limit)
	// span, memory and grain replace the functions of these names in edges.go.
	span, memory, grain func(l model.Limit) int64
	// keys lists the keys of a case's limits, which all share one counter. It is nil if each key has its own counter.
	keys []string
	// beside is true if limits of the algorithm occur only together with limits of other algorithms.
	beside bool
}

var drawings = map[string]drawing{}

func register(algorithm string, d drawing) bool {
	drawings[algorithm] = d
	return true
}

// randomSets draws the sets of limits for a case. If Changes is set, there are three sets with the same algorithms and
// names.
func randomSets(r *rand.Rand, algorithm string, opts Options) [][]model.Limit {
	algorithms := together(r, algorithm, opts)
	shared := slices.ContainsFunc(algorithms, func(a string) bool { return drawings[a].keys != nil })
	n := 1
	if d := drawings[algorithm]; opts.Changes || d.keys != nil {
		n = 3 + len(d.keys)
	}
	sets := make([][]model.Limit, n)
	for i := range sets {
		for j, a := range algorithms {
			l := randomLimit(r, a, opts)
			switch {
			case i > 0 && opts.Changes:
				l = changed(r, sets[0][j], l, opts)
			case i > 0:
				l = sets[0][j]
			}
			if opts.All {
				l.Name = fmt.Sprintf("l%d", j)
			}
			if opts.Lists || shared && opts.All { // this puts them on the slot of the keys that share a counter
				l.Key = pick(r, listKeys)
			}
			if i > 0 {
				l.Key = sets[0][j].Key
			}
			if keys := drawings[a].keys; keys != nil {
				l.Key = pick(r, keys)
			}
			sets[i] = append(sets[i], l)
		}
		if opts.First && i == 0 {
			chooses(r, sets[0])
		}
		for j := range sets[i] {
			sets[i][j].Choice, sets[i][j].CountDenied = sets[0][j].Choice, sets[i][j].CountDenied && !opts.First
		}
	}
	return sets
}

// together draws the algorithms of the limits in a set. They include the given algorithm, as the first one unless a
// penalty precedes it.
func together(r *rand.Rand, algorithm string, opts Options) []string {
	algorithms := []string{algorithm}
	if opts.All {
		more := 1 + r.IntN(2)
		if opts.First && r.IntN(4) == 0 {
			more = 0 // one choice is left
		}
		for range more {
			algorithms = append(algorithms, pick(r, Algorithms))
		}
		if opts.Lists && r.IntN(2) == 0 {
			algorithms = append(algorithms, model.Concurrency)
		}
		if !opts.First && r.IntN(3) == 0 {
			algorithms = slices.Insert(algorithms, r.IntN(2)*len(algorithms), model.Penalty)
		}
	}
	return algorithms
}

// changed returns l, or old with one parameter of l, so that each parameter also changes alone. It mostly
// keeps the grid, because a limit on another grid has another counter. If the clock can go back, it always keeps the
// grid: a store may drop an expired counter while it adds another, which would become visible when the clock goes back.
func changed(r *rand.Rand, old, l model.Limit, opts Options) model.Limit {
	if opts.ClockSteps || r.IntN(4) > 0 {
		l = onGrid(r, old, l, opts)
	}
	half := old
	switch {
	case r.IntN(2) == 0:
		return l
	case old.Burst > 0 && r.IntN(2) == 0:
		half.Burst = l.Burst
	case old.MaxQueue != nil || old.MaxWaitUS != nil:
		half.MaxQueue, half.MaxWaitUS = l.MaxQueue, l.MaxWaitUS
	case old.Burst > 0 && drawings[old.Algorithm].onGrid == nil:
		half.Count = l.Count
	case len(old.Windows) == 0 && len(l.Windows) == 0:
		half.Limit = l.Limit
	}
	if !accepted(half) || reflect.DeepEqual(half, old) {
		return l
	}
	return half
}

// onGrid draws a limit like l on another limit's grid. If it finds none, it returns the other limit.
func onGrid(r *rand.Rand, of, l model.Limit, opts Options) model.Limit {
	for range 20 {
		if keep := drawings[of.Algorithm].onGrid; keep != nil {
			keep(r, of, &l)
		}
		if accepted(l) {
			return l
		}
		l = draw(r, of.Algorithm, opts)
	}
	return of
}

// randomLimit draws limits until a limit is accepted.
func randomLimit(r *rand.Rand, algorithm string, opts Options) model.Limit {
	for {
		l := draw(r, algorithm, opts)
		if accepted(l) {
			return l
		}
	}
}

// accepted reports whether a limit is valid. It is slightly stricter than the model, so that the limit is valid with
// either definition of 100 years, and with both bounds of a queue.
func accepted(l model.Limit) bool {
	return l.Check() == nil && (l.Burst == 0 || l.IntervalUS > 0 && l.Burst*l.PeriodUS <= 50*year || l.IntervalUS == 0 && memory(l) <= 100*year)
}

func draw(r *rand.Rand, algorithm string, opts Options) model.Limit {
	l := model.Limit{Algorithm: algorithm}
	drawings[algorithm].draw(r, &l, opts)
	if opts.Extras && l.Burst == 0 && !drawings[algorithm].beside {
		l.CountDenied = r.IntN(2) == 0
	}
	return l
}

func drawCount(r *rand.Rand, opts Options) int64 {
	if opts.Big && r.IntN(2) == 0 {
		return pick(r, bigCounts)
	}
	return pick(r, counts)
}

func drawPeriod(r *rand.Rand, opts Options) int64 {
	if opts.Big && r.IntN(3) == 0 {
		return pick(r, bigSpans)
	}
	return pick(r, periods)
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }
