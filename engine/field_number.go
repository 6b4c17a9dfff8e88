package engine

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// number describes a field whose value is one of a limit's numbers: units, or for [FieldSpan] a duration in µs.
type number struct {
	// of returns a pointer to the number in a limit.
	of func(n *algo.Limit) *int64
	// within returns the range of accepted values. It can depend on the rate and on earlier fields of the algorithm.
	within func(n *algo.Limit) (least, most int64)
	// note is a remark that follows the range in errors.
	note string
	// byDefault returns the default value. If it is nil, the field is required.
	byDefault func(l *spec) int64
}

func between(least, most int64) func(*algo.Limit) (int64, int64) {
	return func(*algo.Limit) (int64, int64) { return least, most }
}

func betweenSpans(least, most time.Duration) func(*algo.Limit) (int64, int64) {
	return between(least.Microseconds(), most.Microseconds())
}

func always(value int64) func(*spec) int64 { return func(*spec) int64 { return value } }

// defaultBurst returns the rate's count or 1, depending on the algorithm.
func defaultBurst(l *spec) int64 {
	if n := &l.numbers; n.Algorithm.BurstIsCount() {
		return n.Count * l.scale
	}
	return 1
}

// withRanges fills in the accepted values of each number whose range is the same for every limit.
func withRanges(all []Field) []Field {
	for i := range all {
		if f := &all[i]; f.Accepted == "" {
			f.Accepted = f.accepts(f.number.within(nil))
		}
	}
	return all
}

// numbers sets the algorithm's number fields, in the order of the limit's text.
func (d *draft) numbers(l *spec) error {
	for _, f := range fieldsOf[d.algorithm] {
		if f.number != nil {
			if err := d.number(l, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// number sets one number of the limit to the value given for the field. If none is given, it uses the default.
func (d *draft) number(l *spec, f *Field) error {
	n := &l.numbers
	least, most := f.number.within(n)
	if !d.has(f.Name) {
		if f.number.byDefault == nil {
			return invalid(f.Name, remark("not set"), f.accepts(least, most)+", on "+d.algorithm.String())
		}
		*f.number.of(n) = f.number.byDefault(l)
		return nil
	}
	set := d.of(f.Name)
	value := set.Units
	if f.Kind == FieldSpan {
		value = set.Span.Microseconds()
	}
	switch {
	case value >= least && value <= most && set.Span%time.Microsecond == 0:
	case f.Kind == FieldSpan:
		return invalid(f.Name, set.Span, f.accepts(least, most))
	default:
		return invalid(f.Name, value, f.accepts(least, most))
	}
	*f.number.of(n) = value
	return nil
}

// accepts describes the accepted values, for error messages.
func (f *Field) accepts(least, most int64) string {
	if f.Kind == FieldSpan {
		return FormatSpan(Micros(least)) + " to " + FormatSpan(Micros(most)) + ", in whole microseconds" + f.number.note
	}
	return fmt.Sprintf("%d to %d", least, most) + f.number.note
}

// written returns the field as written in a limit's text. It returns "" for the default value.
func (f *Field) written(l *spec) string {
	n := &l.numbers
	switch {
	case f.text != nil:
		return f.text(l)
	case f.flag != nil && *f.flag(n):
		return f.Name
	case f.number == nil:
		return ""
	}
	value := *f.number.of(n)
	if byDefault := f.number.byDefault; byDefault != nil && value == byDefault(l) {
		return ""
	}
	if f.Kind == FieldSpan {
		return spanText(f.Name, value)
	}
	return unitsText(f.Name, value)
}
