package script

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/headgate/headgate/conform/model"
)

const (
	ms   = int64(1_000)
	sec  = 1_000 * ms
	day  = 86_400 * sec
	year = 365 * day
)

var (
	counts    = []int64{1, 2, 3, 5, 7, 10, 100, 600, 1_000, 150_000, 1_234_567}
	bigCounts = []int64{999_999_937, 4_294_967_291, model.MaxUnits}
	periods   = []int64{ms, 500 * ms, sec, 7 * sec, 60 * sec, 3_600 * sec, day}
	bigSpans  = []int64{30 * day, 366 * day, 10 * year, 50 * year, 100 * year}
	bursts    = []int64{1, 2, 5, 8, 10, 40}
	segments  = []int64{1, 1, 2, 4, 10, 50}
	variants  = []string{model.Weighted, model.Weighted, model.Strict, model.Lenient}
	zones     = []string{"UTC", "Asia/Kolkata", "America/New_York", "Australia/Lord_Howe"}
	calendars = map[string]int64{
		"1m": 60 * sec, "1h": 3_600 * sec, "1d": day, "1w": 7 * day, "1mo": 31 * day, "1y": 366 * day,
	}
	calendarUnits = []string{"1m", "1h", "1d", "1w", "1mo", "1y"}
)

// randomSets draws the sets of limits of a case. Under Changes there are three,
// alike in algorithms and names.
func randomSets(r *rand.Rand, algorithm string, opts Options) [][]model.Limit {
	algorithms := []string{algorithm}
	if opts.All {
		for range 1 + r.IntN(2) {
			algorithms = append(algorithms, pick(r, Algorithms))
		}
		if opts.Lists && r.IntN(2) == 0 {
			algorithms = append(algorithms, model.Concurrency)
		}
	}
	n := 1
	if opts.Changes {
		n = 3
	}
	sets := make([][]model.Limit, n)
	for i := range sets {
		for j, a := range algorithms {
			l := randomLimit(r, a, opts)
			if i > 0 {
				l = changed(r, sets[0][j], l, opts)
			}
			if opts.All {
				l.Name = fmt.Sprintf("l%d", j)
			}
			if opts.Lists && j > 0 {
				l.Key = pick(r, listKeys)
			}
			if i > 0 {
				l.Key = sets[0][j].Key
			}
			sets[i] = append(sets[i], l)
		}
	}
	return sets
}

// changed keeps some of the old numbers, so that each also changes alone. It mostly keeps
// the grid, because a limit on another grid is another counter. If the clock goes back it
// always keeps the grid: a store may drop an expired counter while it adds another, and
// the clock then shows that.
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
	case old.Algorithm == model.TokenBucket:
		half.Count = l.Count
	case old.Algorithm == model.Pacer:
		half.MaxQueue, half.MaxWaitUS = l.MaxQueue, l.MaxWaitUS
	case len(old.Windows) == 0 && len(l.Windows) == 0:
		half.Limit = l.Limit
	}
	if !accepted(half) || reflect.DeepEqual(half, old) {
		return l
	}
	return half
}

// onGrid draws limits like l on the grid of another limit. If it finds none, it returns
// the other limit.
func onGrid(r *rand.Rand, of, l model.Limit, opts Options) model.Limit {
	for range 20 {
		switch of.Algorithm {
		case model.Pacer:
			l.Count, l.PeriodUS = of.Count, of.PeriodUS
		case model.WarmUp:
			l.Count, l.PeriodUS, l.WarmUpUS = of.Count, of.PeriodUS, of.WarmUpUS
		case model.FixedWindow:
			l.WindowUS, l.Align, l.Calendar = of.WindowUS, of.Align, of.Calendar
		case model.SlidingWindow:
			moveToSegments(r, &l, grain(of))
		}
		if accepted(l) {
			return l
		}
		l = draw(r, of.Algorithm, opts)
	}
	return of
}

// moveToSegments gives a sliding window segments of a length.
func moveToSegments(r *rand.Rand, l *model.Limit, us int64) {
	if len(l.Windows) == 0 {
		l.Segments = pick(r, segments)
		l.WindowUS = l.Segments * us
		return
	}
	for i := range l.Windows {
		l.Windows[i].WindowUS = l.Windows[i].WindowUS / l.SegmentUS * us
	}
	l.SegmentUS = us
}

// randomLimit draws until a limit would be accepted.
func randomLimit(r *rand.Rand, algorithm string, opts Options) model.Limit {
	for {
		l := draw(r, algorithm, opts)
		if accepted(l) {
			return l
		}
	}
}

// accepted is slightly stricter than the model, so that no reading of 100 years, and
// neither of a queue's two bounds, is exceeded.
func accepted(l model.Limit) bool {
	return l.Check() == nil && (l.Burst == 0 || memory(l) <= 100*year)
}

func draw(r *rand.Rand, algorithm string, opts Options) model.Limit {
	l := model.Limit{Algorithm: algorithm}
	switch algorithm {
	case model.FixedWindow:
		drawFixed(r, &l, opts)
	case model.SlidingWindow:
		drawSliding(r, &l, opts)
	case model.SlidingLog:
		drawLog(r, &l, opts)
	case model.TokenBucket, model.Pacer:
		drawBucket(r, &l, opts)
	case model.WarmUp:
		drawWarmUp(r, &l, opts)
	case model.Concurrency:
		l.Limit, l.WindowUS = pick(r, []int64{1, 2, 5, 20}), pick(r, []int64{ms, sec, 60 * sec})
		return l
	default:
		panic("script: draw has no case for " + algorithm)
	}
	if opts.Extras && l.Burst == 0 {
		l.CountDenied = r.IntN(2) == 0
	}
	return l
}

func drawBucket(r *rand.Rand, l *model.Limit, opts Options) {
	l.Count, l.PeriodUS, l.Burst = drawCount(r, opts), drawPeriod(r, opts), pick(r, bursts)
	switch {
	case r.IntN(3) == 0:
		l.Burst = l.Count
	case opts.Big && r.IntN(2) == 0:
		l.Burst = drawCount(r, opts)
	}
	switch {
	case l.Algorithm == model.Pacer:
		drawQueue(r, l)
		l.NextPays = opts.Extras && r.IntN(3) == 0
	case opts.Extras && r.IntN(3) == 0:
		l.NextPays = true
	case opts.Extras && r.IntN(2) == 0:
		l.Debt = pick(r, []int64{1, 2, 10, l.Burst})
	}
}

// drawWarmUp draws ramps of a few units and of many.
func drawWarmUp(r *rand.Rand, l *model.Limit, opts Options) {
	drawBucket(r, l, Options{Big: opts.Big})
	l.WarmUpUS = pick(r, []int64{100 * ms, 7 * sec, 3_600 * sec, 2 * refill(*l, 1), refill(*l, 1+r.Int64N(50))})
	l.NextPays = opts.Extras && r.IntN(3) == 0
}

// drawQueue draws the longest queue of a pacer, the longest wait, or both.
func drawQueue(r *rand.Rand, l *model.Limit) {
	if r.IntN(3) > 0 {
		l.MaxQueue = new(pick(r, []int64{0, 1, 2, 5, 20}))
	}
	if l.MaxQueue == nil || r.IntN(2) == 0 {
		l.MaxWaitUS = new(pick(r, []int64{0, 1, ms, sec / 3, sec, 60 * sec}))
	}
}

func drawFixed(r *rand.Rand, l *model.Limit, opts Options) {
	l.Limit, l.WindowUS, l.Align = drawCount(r, opts), drawPeriod(r, opts), pick(r, []string{"first", "clock"})
	if opts.Extras && r.IntN(2) == 0 {
		l.WindowUS, l.Align, l.Calendar = 0, pick(r, zones), pick(r, calendarUnits)
	}
}

func drawSliding(r *rand.Rand, l *model.Limit, opts Options) {
	l.Variant = pick(r, variants)
	if r.IntN(3) > 0 {
		l.Limit, l.WindowUS, l.Segments = drawCount(r, opts), drawPeriod(r, opts), pick(r, segments)
		if opts.Big && r.IntN(4) == 0 {
			l.Segments = model.MaxSegments
		}
		return
	}
	l.SegmentUS = pick(r, []int64{ms, 100 * ms, sec})
	k, limit := int64(0), int64(0)
	for range 2 + r.IntN(2) {
		k, limit = k+1+r.Int64N(20), limit+1+r.Int64N(9)
		l.Windows = append(l.Windows, model.Window{Limit: limit, WindowUS: k * l.SegmentUS})
	}
}

// drawLog keeps logs short, for speed.
func drawLog(r *rand.Rand, l *model.Limit, opts Options) {
	if r.IntN(2) == 0 {
		l.Limit, l.WindowUS = 1+r.Int64N(pick(r, []int64{5, 20, 200})), drawPeriod(r, opts)
		return
	}
	us, limit := drawPeriod(r, opts), int64(0)
	for range 2 + r.IntN(2) {
		limit += 1 + r.Int64N(9)
		l.Windows = append(l.Windows, model.Window{Limit: limit, WindowUS: us})
		us *= 2 + r.Int64N(59)
	}
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
