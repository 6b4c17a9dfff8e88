package headgate

import (
	"slices"
	"strconv"
	"sync"
	"time"
	"unique"

	"github.com/headgate/headgate/algo"
)

const (
	maxUnits     = 1<<32 - 1
	maxLogUnits  = 100_000
	maxHeld      = 100_000
	maxSegments  = 1000
	maxNameBytes = 64
	defaultLease = time.Minute

	unitsAccepted  = "1 to 4294967295"
	orZeroAccepted = "0 to 4294967295"
	spanAccepted   = "1ms to 36525d, in whole microseconds"
)

// takes lists the fields that each algorithm has.
var takes = map[algo.Algorithm][]string{
	algo.TokenBucket:   {"name", "burst", "debt"},
	algo.Pacer:         {"name", "burst", "max_wait", "max_queue"},
	algo.FixedWindow:   {"name", "align", "count_denied"},
	algo.SlidingWindow: {"name", "windows", "segments", "segment", "variant", "count_denied"},
	algo.SlidingLog:    {"name", "windows", "count_denied"},
	algo.Concurrency:   {"name", "lease"},
}

// build checks the fields and makes the limit.
func build(a algo.Algorithm, rates []Rate, options []Option) (Limit, error) {
	d := draft{algorithm: a, rates: rates}
	for _, set := range options {
		set(&d)
	}
	for _, field := range d.given {
		if !slices.Contains(takes[a], field) {
			return Limit{}, invalid(field, remark("set"), "no such field on "+a.String())
		}
	}
	if d.has("name") && (d.name == "" || len(d.name) > maxNameBytes) {
		return Limit{}, invalid("name", d.name, "1 to 64 bytes")
	}
	s := spec{name: d.name, scale: 1}
	if d.name == DefaultName {
		s.name = ""
	}
	s.numbers.Algorithm = a
	s.numbers.CountDenied = d.has("count_denied")
	if err := d.fill(&s); err != nil {
		return Limit{}, err
	}
	return s.limit(), nil
}

func (d *draft) fill(l *spec) error {
	switch d.algorithm {
	case algo.TokenBucket, algo.Pacer:
		return d.bucket(l)
	case algo.FixedWindow:
		return d.fixedWindow(l)
	case algo.SlidingWindow:
		return d.slidingWindow(l)
	case algo.SlidingLog:
		return d.slidingLog(l)
	default:
		return d.concurrency(l)
	}
}

// first checks the limit's rate and sets it.
func (d *draft) first(l *spec) error {
	r := d.rates[0]
	if err := checkUnits("limit", r.Count); err != nil {
		return err
	}
	if err := checkSpan("window", r); err != nil {
		return err
	}
	l.numbers.Count, l.numbers.Period = r.Count, r.Period.Microseconds()
	return nil
}

func (d *draft) fixedWindow(l *spec) error {
	r, n := d.rates[0], &l.numbers
	if d.has("align") && d.align != "first" && d.align != "clock" {
		return d.calendar(l)
	}
	if r.Months != 0 {
		return invalid("window", remark(r.String()), "calendar months and years only with a time zone (align)")
	}
	if d.align == "clock" {
		n.Align = algo.AlignClock
	}
	return d.first(l)
}

// calendarUnits are the periods that a calendar has, but for month and year.
var calendarUnits = map[time.Duration]algo.Unit{
	time.Minute: algo.Minute, time.Hour: algo.Hour, day: algo.Day, week: algo.Week,
}

func (d *draft) calendar(l *spec) error {
	r, n := d.rates[0], &l.numbers
	n.Align = algo.AlignCalendar
	switch {
	case r.Months == 1 && r.Period == 0:
		n.Unit = algo.Month
	case r.Months == 12 && r.Period == 0:
		n.Unit = algo.Year
	default:
		n.Unit = calendarUnits[r.Period]
	}
	if n.Unit == algo.NoUnit || n.Unit < algo.Month && r.Months != 0 {
		return invalid("window", remark(formatPeriod(r)), "1m, 1h, 1d, 1w, 1mo or 1y with a time zone")
	}
	zone, err := loadZone(d.align)
	if err != nil {
		return err
	}
	n.Count, n.Period, n.Zone = r.Count, r.Period.Microseconds(), zone
	return checkUnits("limit", r.Count)
}

// zones keeps one pointer per time zone, so that limits stay comparable. Only
// names that exist are kept: some 600.
var zones sync.Map

func loadZone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, invalid("align", name, "first, clock, or an IANA time zone such as Europe/Paris")
	}
	kept, _ := zones.LoadOrStore(name, zone)
	return kept.(*time.Location), nil
}

func (d *draft) concurrency(l *spec) error {
	r := d.rates[0]
	if d.has("lease") {
		r.Period = d.lease
	}
	if r.Count < 1 || r.Count > maxHeld {
		return invalid("limit", r.Count, "1 to 100000")
	}
	if err := checkSpan("lease", r); err != nil {
		return err
	}
	l.numbers.Count, l.numbers.Period = r.Count, r.Period.Microseconds()
	return nil
}

func checkUnits(field string, n int64) error {
	if n < 1 || n > maxUnits {
		return invalid(field, n, unitsAccepted)
	}
	return nil
}

func checkSpan(field string, r Rate) error {
	if r.Months != 0 {
		return invalid(field, remark(formatPeriod(r)), "calendar months and years only on a fixed window with a time zone")
	}
	if r.Period < time.Millisecond || r.Period > longest || r.Period%time.Microsecond != 0 {
		return invalid(field, r.Period, spanAccepted)
	}
	return nil
}

// severalWindows checks a list of windows and keeps it where it has more than one.
func (d *draft) severalWindows(l *spec) error {
	if len(d.rates) > algo.MaxWindows {
		return invalid("windows", remark(strconv.Itoa(len(d.rates))+" windows"), "1 to 8")
	}
	var w algo.Windows
	for i, r := range d.rates {
		if err := checkUnits("limit", r.Count); err != nil {
			return err
		}
		if err := checkSpan("window", r); err != nil {
			return err
		}
		for _, other := range d.rates[:i] {
			if shorter, longer := sortRates(r, other); shorter.Period == longer.Period || shorter.Count >= longer.Count {
				return invalid("windows", remark(shorter.String()+" beside "+longer.String()), "each shorter window with a smaller limit than the longer ones")
			}
		}
		w.List[i] = algo.Window{Limit: r.Count, Span: r.Period.Microseconds()}
	}
	w.N = len(d.rates)
	l.numbers.Count, l.numbers.Period = w.List[0].Limit, w.List[0].Span
	if w.N > 1 {
		l.numbers.Several = unique.Make(w)
	}
	return nil
}

func sortRates(a, b Rate) (shorter, longer Rate) {
	if a.Period <= b.Period {
		return a, b
	}
	return b, a
}
