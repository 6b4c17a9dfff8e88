package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/headgate/headgate/engine/algo"
)

// DefaultLease is the lease time of a concurrency limit that does not set one.
const DefaultLease = time.Minute

const (
	maxLogUnits  = 100_000
	maxHeld      = 100_000
	maxSegments  = 1000
	maxNameBytes = 64

	spanAccepted = "1ms to 36525d, in whole microseconds"
)

var unitsAccepted = fmt.Sprintf("1 to %d", algo.MaxUnits)

// draft is a limit under construction, with the settings that the caller gave.
type draft struct {
	algorithm algo.Algorithm
	rates     []Rate
	settings  []Setting
}

// NoLimit returns the limit that allows every request.
func NoLimit() Limit { return Build(algo.Unlimited, nil) }

// DenyAll returns the limit that denies every request.
func DenyAll() Limit { return Build(algo.DenyAll, nil) }

// Build returns a limit with an algorithm, one rate or several windows, and settings. If a field is set twice, the
// last setting applies. An invalid rate or setting makes the limit invalid: [Limit.Err] returns the [*InputError].
func Build(a algo.Algorithm, rates []Rate, settings ...Setting) Limit {
	d := draft{algorithm: a, rates: rates, settings: settings}
	s, err := d.build()
	if err != nil {
		return Invalid(err)
	}
	return s.limit()
}

func (d *draft) build() (spec, error) {
	s := spec{scale: 1}
	s.numbers.Algorithm = d.algorithm
	for _, set := range d.settings {
		if f := fieldNamed(set.Field); f == nil || !f.On(d.algorithm) {
			return s, invalid(set.Field, remark("set"), "no such field on "+d.algorithm.String())
		}
	}
	switch {
	case d.algorithm.Constant():
		return s, nil
	case d.algorithm == algo.None:
		return s, invalid("algorithm", remark("not set"), strings.Join(algorithmNames(), ", "))
	case int(d.algorithm) >= len(builders):
		return s, invalid("algorithm", remark(d.algorithm.String()), strings.Join(algorithmNames(), ", "))
	}
	if len(d.rates) != 1 && !d.algorithm.Has("windows") {
		return s, invalid("windows", remark(strconv.Itoa(len(d.rates))+" windows"), "one on "+d.algorithm.String())
	}
	s.name = d.of("name").Word
	if d.has("name") && (s.name == "" || len(s.name) > maxNameBytes) {
		return s, invalid("name", s.name, "1 to 64 bytes")
	}
	for i := range fields {
		if f := &fields[i]; f.flag != nil && d.has(f.Name) {
			*f.flag(&s.numbers) = true
		}
	}
	return s, builders[d.algorithm](d, &s)
}

func (d *draft) has(field string) bool {
	return slices.ContainsFunc(d.settings, func(s Setting) bool { return s.Field == field })
}

// of returns the last setting of the field, or the zero Setting if the field is not set.
func (d *draft) of(field string) Setting {
	for _, s := range slices.Backward(d.settings) {
		if s.Field == field {
			return s
		}
	}
	return Setting{}
}

// Bucket builds a token bucket, of which most programs and commands need no more than rate and burst.
func Bucket(rate Rate, settings ...Setting) Limit {
	return Build(algo.TokenBucket, []Rate{rate}, settings...)
}

// builders contains, for each algorithm, the function that checks a limit's settings and fills in its numbers.
var builders = [...]func(*draft, *spec) error{
	algo.TokenBucket:     (*draft).tokenBucket,
	algo.Pacer:           (*draft).pacer,
	algo.FixedWindow:     (*draft).fixedWindow,
	algo.SlidingWindow:   (*draft).slidingWindow,
	algo.SlidingLog:      (*draft).slidingLog,
	algo.WarmUp:          (*draft).warmUp,
	algo.Concurrency:     (*draft).concurrency,
	algo.FairShare:       (*draft).fairShare,
	algo.Penalty:         (*draft).penalty,
	algo.AdaptiveRate:    (*draft).adaptiveRate,
	algo.FairConcurrency: (*draft).fairConcurrency,
	algo.FairPacer:       (*draft).fairPacer,
}

// If a builder is missing, every program that imports the package panics.
func init() {
	for _, a := range algo.Algorithms() {
		if !a.Constant() && (int(a) >= len(builders) || builders[a] == nil) {
			panic("engine: no builder for " + a.String())
		}
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
	if align := d.of("align").Word; d.has("align") && align != "first" && align != "clock" {
		return d.calendar(l)
	}
	if d.has("anchor") {
		return invalid("anchor", d.of("anchor").Word, anchorAccepted)
	}
	if r.Months != 0 {
		return invalid("window", remark(formatPeriod(r)), "calendar months and years only with a time zone (align)")
	}
	if d.of("align").Word == "clock" {
		n.Align = algo.AlignClock
	}
	return d.first(l)
}

// calendarUnits maps the periods of fixed length to calendar units. It does not contain months and years.
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
	zone, err := loadZone(d.of("align").Word)
	if err != nil {
		return err
	}
	n.Count, n.Period, n.Zone = r.Count, r.Period.Microseconds(), zone
	if err := d.anchor(n); err != nil {
		return err
	}
	return checkUnits("limit", r.Count)
}

const anchorAccepted = "a date such as 2026-01-31, or with a time 2026-01-31T17:30, for 1d, 1w, 1mo or 1y with a time zone"

func (d *draft) anchor(n *algo.Limit) error {
	if !d.has("anchor") {
		return nil
	}
	anchor, ok := algo.ParseAnchor(d.of("anchor").Word)
	if !ok || n.Unit < algo.Day {
		return invalid("anchor", d.of("anchor").Word, anchorAccepted)
	}
	n.Anchor = anchor
	return nil
}

// zones maps names of time zones to one pointer each, so that limits stay comparable. It contains only zones that
// exist; there are about 600.
var zones sync.Map

func loadZone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, invalid("align", name, alignAccepted(time.LoadLocation))
	}
	kept, _ := zones.LoadOrStore(name, zone)
	return kept.(*time.Location), nil
}

// alignAccepted returns the alignments that this program accepts. A static program on a system without zone data knows no
// zone but UTC.
func alignAccepted(load func(string) (*time.Location, error)) string {
	const example = "Europe/Paris"
	if _, err := load(example); err != nil {
		return "first, clock, or UTC; this system has no time zone data: import time/tzdata, or install the package tzdata"
	}
	return "first, clock, or an IANA time zone such as " + example
}

func (d *draft) concurrency(l *spec) error {
	r := d.rates[0]
	if r.Count < 1 || r.Count > maxHeld {
		return invalid("limit", r.Count, "1 to 100000")
	}
	if err := checkSpan("lease", r); err != nil {
		return err
	}
	l.numbers.Count, l.numbers.Period = r.Count, r.Period.Microseconds()
	return d.numbers(l)
}

func (d *draft) fairConcurrency(l *spec) error {
	if n := d.rates[0].Count; n < LeastDivided {
		return invalid("limit", n, "10 to 100000 on fair-concurrency")
	}
	return d.concurrency(l)
}

func checkUnits(field string, n int64) error {
	if n < 1 || n > algo.MaxUnits {
		return invalid(field, n, unitsAccepted)
	}
	return nil
}

// checkRate checks a rate that is written as one field. Its errors show the whole rate.
func checkRate(r Rate) error {
	if r == (Rate{}) {
		return invalid("rate", remark("not set"), "a count of "+unitsAccepted+" in a period of "+spanAccepted)
	}
	if checkUnits("rate", r.Count) != nil {
		return invalid("rate", remark(r.String()), "a count of "+unitsAccepted)
	}
	if r.Months == 0 && checkSpan("rate", r) != nil {
		return invalid("rate", remark(r.String()), "a period of "+spanAccepted)
	}
	return checkSpan("rate", r)
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

// severalWindows checks the list of windows. It stores the list if there is more than one.
func (d *draft) severalWindows(l *spec) error {
	for _, set := range d.settings {
		d.rates = append(slices.Clip(d.rates), set.Rates...)
	}
	if len(d.rates) < 1 || len(d.rates) > algo.MaxWindows {
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
