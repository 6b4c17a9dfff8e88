package policy

import (
	"strconv"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/algo"
)

// written returns the name of a field that was written, or "".
func (f *LimitFields) written() string {
	for _, field := range f.fields() {
		if field.set {
			return field.name
		}
	}
	return ""
}

type writtenField struct {
	name string
	set  bool
}

func (f *LimitFields) fields() []writtenField {
	return []writtenField{
		{"algorithm", f.Algorithm != nil},
		{"rate", f.Rate != nil},
		{"burst", f.Burst != nil},
		{"debt", f.Debt != nil},
		{"max_wait", f.MaxWait != nil},
		{"max_queue", f.MaxQueue != nil},
		{"limit", f.Limit != nil},
		{"window", f.Window != nil},
		{"align", f.Align != nil},
		{"segments", f.Segments != nil},
		{"segment", f.Segment != nil},
		{"variant", f.Variant != nil},
		{"windows", f.Windows != nil},
		{"lease", f.Lease != nil},
		{"count_denied", f.CountDenied != nil},
		{"name", f.Name != nil},
		{"all", f.All != nil},
	}
}

// without refuses fields that the algorithm does not have.
func (f *LimitFields) without(a algo.Algorithm, names ...string) error {
	for _, field := range f.fields() {
		for _, name := range names {
			if field.set && field.name == name {
				return refuse(name, "set", "no such field on "+a.String())
			}
		}
	}
	return nil
}

// options turns the written fields into the constructors' options. Those that
// do not suit the algorithm are refused there.
func (f *LimitFields) options() ([]headgate.Option, error) {
	var options []headgate.Option
	add := func(o headgate.Option) { options = append(options, o) }
	if f.Name != nil {
		add(headgate.Named(*f.Name))
	}
	if f.Burst != nil {
		add(headgate.Burst(*f.Burst))
	}
	if f.Debt != nil {
		add(headgate.AllowDebt(*f.Debt))
	}
	if f.MaxQueue != nil {
		add(headgate.MaxQueue(*f.MaxQueue))
	}
	if f.Align != nil {
		add(headgate.Calendar(*f.Align)) // first and clock are alignments too
	}
	if f.Segments != nil {
		add(headgate.Segments(int(*f.Segments)))
	}
	if f.CountDenied != nil && *f.CountDenied {
		add(headgate.CountDenied())
	}
	if err := f.spans(add); err != nil {
		return nil, err
	}
	return options, f.variant(add)
}

func (f *LimitFields) spans(add func(headgate.Option)) error {
	if f.MaxWait != nil {
		span, err := headgate.ParseSpan(*f.MaxWait)
		if err != nil {
			return at(err, "max_wait")
		}
		add(headgate.MaxWait(span))
	}
	if f.Segment != nil {
		span, err := headgate.ParseSpan(*f.Segment)
		if err != nil {
			return at(err, "segment")
		}
		add(headgate.SegmentLength(span))
	}
	if f.Lease != nil {
		span, err := headgate.ParseSpan(*f.Lease)
		if err != nil {
			return at(err, "lease")
		}
		add(headgate.LeaseTime(span))
	}
	return nil
}

func (f *LimitFields) variant(add func(headgate.Option)) error {
	if f.Variant == nil {
		return nil
	}
	switch *f.Variant {
	case "weighted":
		add(headgate.Weighted())
	case "strict":
		add(headgate.Strict())
	case "lenient":
		add(headgate.Lenient())
	default:
		return refuse("variant", strconv.Quote(*f.Variant), "weighted, strict, lenient")
	}
	return nil
}
