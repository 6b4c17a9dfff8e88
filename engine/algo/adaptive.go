package algo

// adaptiveRate is a token bucket whose rate moves between a minimum and a maximum, according to reported outcomes.
var adaptiveRate = algorithm{
	name:   "adaptive-rate",
	code:   "ar",
	fields: []string{"min", "max", "burst", "interval", "failures", "max_pause", "name"},
	properties: properties{
		refills: true,
		// oneByOne is not set, because the time between two units changes.
		burstIsCount: true, // as for a token bucket
		adapts:       true,
		keepsReturns: true,
		// Denials are not repeated, because a raised rate can admit requests earlier. Units are not prefetched, because
		// they would outlive a lowered rate.
	},
	on: func(s *State) arithmetic { return (*adaptive)(s) },
	// A process does not know the rate in force, so its share is a part of the initial rate.
	shares: bucketShares,
	// Rates with different periods have different units, so the period is part of the counter's name.
	grid:  func(l *Limit) Grid { return Grid{Period: l.Period} },
	spare: func(s *State, l *Limit, _ Instant) int64 { return s.bucket.spare(l) },
	upperBound: func(l *Limit) (Limit, bool) {
		c := Limit{Algorithm: TokenBucket, Burst: l.Burst}
		c.Count, c.Period, _ = Reduce(l.Max, l.Period)
		return c, true
	},
	giveHeld: func(s *State, l *Limit, t Instant, n int64, h *Held, r *Returns) {
		(*adaptive)(s).giveHeld(l, t, n, h, r)
	},
	observe: func(s *State, l *Limit, t Instant, r *Report) { (*adaptive)(s).observe(l, t, r) },
}

// adaptive is the state of an adaptive rate: a bucket, whose Count is the rate in force, and the reported outcomes. The
// rate is in 1/1024 units, so that small rates can change too.
type adaptive State

// Report contains outcomes of earlier requests, for an adaptive rate. Denials by the limit itself do not count as
// outcomes.
type Report struct {
	// Good is the number of requests that succeeded, and Bad the number that failed: each 0 to [MaxReported].
	Good, Bad int64
	// Pause is the time, in µs, until requests may pass again, such as an upstream's Retry-After: 0 to
	// [MaxReportedPause].
	Pause int64
}

// The maximum values in a report: the number of outcomes of one kind, and a pause of 366 days in µs.
const (
	MaxReported      = 1 << 20
	MaxReportedPause = 366 * 86_400_000_000
)

// ReportFields lists the numbers of a report under their names in requests. Each number is 0 to Most. The pause is in
// ms.
var ReportFields = [3]struct {
	Name string
	Most int64
}{{"good", MaxReported}, {"bad", MaxReported}, {"retry_after_ms", MaxReportedPause / 1000}}

// ReportOf returns the report for the numbers listed in [ReportFields].
func ReportOf(numbers [3]int64) *Report {
	return &Report{Good: numbers[0], Bad: numbers[1], Pause: numbers[2] * 1000}
}

// adapted is the state of an adaptive rate except for its bucket. A decision copies it before changing anything, so
// copies of a state can share it.
type adapted struct {
	// Good and Bad are the numbers of outcomes reported since Opened. Used is the number of units charged since then.
	Opened, Good, Bad, Used int64
	// Version is the number of changes of the rate, and Raised the instant of its last increase.
	Version, Raised int64
	// Paused is the instant from which units pass again.
	Paused int64
	// Over is the instant from which the state is equivalent to no state.
	Over int64

	// stepped is set if the current decision has changed the rate.
	stepped bool
}

const (
	// RateScale is the value of [Outcome].Rate that means one unit per period.
	RateScale = 1024
	// leastReports is the number of reports needed for a step.
	leastReports = 10
	// A step up is 1/64 of the rate, and is made only if three quarters of the capacity were used. A step down is 1/8
	// of the rate.
	raiseBy, lowerBy = 64, 8
	// If the bucket is full, the state is dropped after keptSteps intervals without a charge or a report.
	keptSteps = 600
	// The number of used units is compared with the capacity of at most usedSteps intervals.
	usedSteps = 64
	// mostReported bounds the sums of reports.
	mostReported = 1 << 40
)

// copied replaces the adapted part of the state with a copy, and returns the copy, which the caller may change.
func (a *adaptive) copied() *adapted {
	own := *a.extra
	a.extra, own.adapted.stepped = &own, false
	return &own.adapted
}

func (a *adaptive) behind(l *Limit, t Instant) (us int64, far bool) {
	b := &a.bucket
	us = b.At - t.Now
	if us <= 0 || a.extra == nil {
		return 0, false
	}
	return us, us > max(b.full(l).ceilOver(b.Count), b.Missing.ceilOver(b.Count), l.StepTime)
}

func (a *adaptive) rewind(l *Limit, t Instant) {
	v := a.copied()
	v.Opened, v.Raised, v.Paused = min(v.Opened, t.Now), min(v.Raised, t.Now), min(v.Paused, t.Now+l.MaxPause)
	a.bucket.At = t.Now
}

// settle refills the bucket at the rate that was in force, and moves the rate into the range of the call's minimum and
// maximum. If at least one interval is over, it changes the rate by one step.
func (a *adaptive) settle(l *Limit, t Instant) {
	if a.extra == nil || t.Now >= a.adapted.Over {
		a.bucket = Bucket{Count: l.Count * RateScale, Period: l.Period * RateScale, At: t.Now}
		a.extra = &extra{adapted: adapted{Opened: t.Now}}
		return
	}
	v := a.copied()
	a.bucket.refill(t.Now)
	if v.Paused = min(v.Paused, t.Now+l.MaxPause); v.Paused <= t.Now {
		v.Paused = 0
	}
	a.set(a.bucket.Count, l, t.Now)
	if t.Now-v.Opened >= l.StepTime && v.Good+v.Bad >= leastReports {
		a.set(a.next(l, t.Now), l, t.Now)
		v.Opened, v.Good, v.Bad, v.Used = t.Now, 0, 0, 0
	}
}

// next returns the rate after one step.
func (a *adaptive) next(l *Limit, now int64) int64 {
	v, rate := &a.adapted, a.bucket.Count
	if v.Bad*100 > l.Failures*(v.Good+v.Bad) {
		return rate - (rate+lowerBy-1)/lowerBy
	}
	elapsed := min(now-v.Opened, usedSteps*l.StepTime)
	if product(4*v.Used, a.bucket.Period).less(product(3*rate, elapsed)) {
		return rate
	}
	return rate + rate/raiseBy
}

// set sets the rate, limited to the range from the minimum to the maximum. If the rate changes, set also increments its
// version.
func (a *adaptive) set(rate int64, l *Limit, now int64) {
	rate = max(l.Min*RateScale, min(l.Max*RateScale, rate))
	if rate == a.bucket.Count {
		return
	}
	a.adapted.Version++
	a.adapted.stepped = true
	if rate > a.bucket.Count {
		a.adapted.Raised = now
	}
	a.bucket.Count = rate
}

// observe adds a report to the counts of outcomes, and starts or extends the pause that it contains, limited to
// MaxPause. It never shortens a pause.
func (a *adaptive) observe(l *Limit, t Instant, r *Report) {
	v := &a.adapted
	v.Good, v.Bad = min(v.Good+r.Good, mostReported), min(v.Bad+r.Bad, mostReported)
	if pause := min(r.Pause, l.MaxPause); pause > 0 {
		v.Paused = max(v.Paused, t.Now+pause)
	}
}

func (a *adaptive) wait(l *Limit, t Instant, cost int64) (wait int64, window int) {
	wait, window = a.bucket.wait(l, t, cost)
	return max(wait, a.adapted.Paused-t.Now), window
}

func (a *adaptive) room(l *Limit, t Instant) int64 {
	if a.adapted.Paused > t.Now {
		return 0
	}
	return a.bucket.room(l, t)
}

func (a *adaptive) charge(_ *Limit, _ Instant, cost, _ int64) (after int64) {
	a.bucket.Missing = a.bucket.Missing.plus(product(cost, a.bucket.Period))
	a.adapted.Used = min(a.adapted.Used+cost, MaxUnits)
	return 0
}

func (a *adaptive) give(l *Limit, t Instant, n int64, charge *Held) {
	a.bucket.give(l, t, n, charge)
	a.adapted.Used = max(0, a.adapted.Used-n)
}

// giveHeld gives nothing back if the rate was raised after the charge, because more units may have refilled than the
// reservation's times imply.
func (a *adaptive) giveHeld(l *Limit, t Instant, n int64, h *Held, r *Returns) {
	a.adapted.Used = max(0, a.adapted.Used-n)
	if h.At < a.adapted.Raised {
		return
	}
	inForce := *l
	inForce.Count, inForce.Period = a.bucket.Count, a.bucket.Period
	a.bucket.giveHeld(&inForce, t.Now, n, h, r)
}

func (a *adaptive) report(l *Limit, t Instant, o *Outcome) {
	o.Limit, o.Remaining = l.Burst, a.room(l, t)
	o.Reset = max(a.bucket.ttl(l, t), a.adapted.Paused-t.Now)
	o.Rate, o.Version = a.bucket.Count, a.adapted.Version
}

// ttl also sets Over, the instant when the written state ends. It returns 0 if no units are missing, all counts are 0,
// the rate has not changed and there is no pause, because such a state is equivalent to no state.
func (a *adaptive) ttl(l *Limit, t Instant) int64 {
	v := &a.adapted
	if a.bucket.Missing.isZero() && v.Good+v.Bad+v.Used+v.Version+v.Paused == 0 {
		return 0
	}
	ttl := max(a.bucket.ttl(l, t), v.Paused-t.Now, keptSteps*l.StepTime)
	v.Over = t.Now + ttl
	return ttl
}

func (a *adaptive) append(to []byte) []byte {
	v := &a.adapted
	return integers(a.bucket.append(to), v.Opened, v.Good, v.Bad, v.Used, v.Version, v.Raised, v.Paused, v.Over)
}

func (a *adaptive) decode(d *decoder) {
	a.bucket.decode(d)
	a.extra = &extra{adapted: adapted{
		Opened: d.integer(), Good: d.natural(), Bad: d.natural(), Used: d.natural(),
		Version: d.natural(), Raised: d.integer(), Paused: d.integer(), Over: d.integer(),
	}}
}
