package engine

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Field is a field that a limit can have in addition to its rate. Limits in Go, as text, in policy files and in JSON
// use the same table of fields.
type Field struct {
	// Name is the field's name in each of these forms.
	Name string
	// Kind is the type of the value.
	Kind FieldKind
	// Accepted describes the accepted values. The table below leaves it empty for a number whose range describes them.
	Accepted string
	// About describes the purpose of the field.
	About string

	// implies reports whether the field selects its algorithm if a limit's text names none. If several algorithms have
	// it, it selects the first.
	implies bool
	// The number field is set if the value is one of the limit's numbers, and flag if it is one of the limit's flags.
	// The algorithm's builder reads all other fields.
	number *number
	flag   func(n *algo.Limit) *bool
	// text returns the field as written in a limit's text, or "" for the default value. It is nil if the number or flag
	// field determines the text.
	text func(l *spec) string
}

// FieldKind is the type of the value of a field.
type FieldKind uint8

// The kinds of field.
const (
	// FieldUnits is a whole number.
	FieldUnits FieldKind = iota
	// FieldSpan is a duration, such as 100ms or 1d.
	FieldSpan
	// FieldWord is a word.
	FieldWord
	// FieldFlag is a word without a value in a limit's text, and true or false elsewhere.
	FieldFlag
	// FieldRates is a list of further windows.
	FieldRates
)

// To add a number to an algorithm, add an entry here and a field to [algo.Limit]. [draft.numbers] checks and sets it.
var fields = withRanges([]Field{
	{
		Name: "burst", Kind: FieldUnits,
		number: &number{of: func(n *algo.Limit) *int64 { return &n.Burst }, within: between(1, algo.MaxUnits), byDefault: defaultBurst},
		About:  "The number of units that pass at once after an idle time. By default the rate's count, or 1 for a pacer, a fair pacer and a warm-up. For a fair share 10 to 68719476736; nested, at most half of that.",
	},
	{
		Name: "debt", Kind: FieldUnits,
		text:   debtText,
		number: &number{of: func(n *algo.Limit) *int64 { return &n.Queue }, within: between(0, algo.MaxUnits), byDefault: always(0)},
		About:  "How far a bucket that is not empty can be overdrawn, in units. By default 0.",
	},
	{
		Name: "max_wait", Kind: FieldSpan, implies: true,
		text:   maxWaitText,
		number: &number{of: func(n *algo.Limit) *int64 { return &n.MaxWait }, within: betweenSpans(0, longest), byDefault: always(0)},
		About:  "The longest delay of a request. A pacer needs max_wait, max_queue or both.",
	},
	{
		Name: "max_queue", Kind: FieldUnits, implies: true,
		text:   maxQueueText,
		number: &number{of: func(n *algo.Limit) *int64 { return &n.Queue }, within: between(0, algo.MaxUnits), byDefault: always(0)},
		About:  "The largest number of units that wait. A pacer needs max_wait, max_queue or both. A fair pacer needs max_queue; with the burst, it is 10 to 68719476736, nested at most half of that.",
	},
	{
		Name: "warm_up", Kind: FieldSpan, implies: true,
		number: &number{of: func(n *algo.Limit) *int64 { return &n.WarmUp }, within: betweenSpans(time.Millisecond, longest)},
		About:  "The time in which a cold limit under full use reaches its rate. At least the time of 2 units at the rate. It starts at a third of the rate.",
	},
	{
		Name: "weight", Kind: FieldUnits, implies: true,
		number: &number{of: func(n *algo.Limit) *int64 { return &n.Weight }, within: between(1, MaxWeight), byDefault: always(1)},
		About:  "A key of weight 3 can have three times as much as a key of weight 1, while both ask for more. By default 1.",
	},
	{
		Name: "nested", Kind: FieldFlag, Accepted: "true, false", implies: true,
		flag:  func(n *algo.Limit) *bool { return &n.Nested },
		About: "The limit is divided among groups of keys, and each group's part among its keys. The group of a key is its first part: acme in acme:alice.",
	},
	{
		Name: "min", Kind: FieldUnits, Accepted: "1 to the rate's count", implies: true,
		number: &number{
			of:     func(n *algo.Limit) *int64 { return &n.Min },
			within: func(n *algo.Limit) (int64, int64) { return 1, n.Count }, note: ", the rate at the start",
		},
		About: "The lowest rate, in units per window.",
	},
	{
		Name: "max", Kind: FieldUnits, Accepted: fmt.Sprintf("the rate's count to %d", fastestAdaptive), implies: true,
		number: &number{
			of:     func(n *algo.Limit) *int64 { return &n.Max },
			within: func(n *algo.Limit) (int64, int64) { return n.Count, fastestAdaptive }, note: ", from the rate at the start",
		},
		About: "The highest rate, in units per window.",
	},
	{
		Name: "interval", Kind: FieldSpan, implies: true,
		number: &number{of: func(n *algo.Limit) *int64 { return &n.StepTime }, within: betweenSpans(100*time.Millisecond, time.Minute), byDefault: always(time.Second.Microseconds())},
		About:  "The time between two steps of the rate. It is longer while there are fewer than 10 reports. By default 1s.",
	},
	{
		Name: "failures", Kind: FieldUnits, implies: true,
		number: &number{of: func(n *algo.Limit) *int64 { return &n.Failures }, within: between(0, 99), byDefault: always(5), note: " percent"},
		About:  "The rate falls if more than this percentage of the requests failed. By default 5.",
	},
	{
		Name: "max_pause", Kind: FieldSpan, implies: true,
		number: &number{of: func(n *algo.Limit) *int64 { return &n.MaxPause }, within: betweenSpans(0, time.Hour), byDefault: always(time.Minute.Microseconds())},
		About:  "The longest time that an upstream's Retry-After can stop all requests, counted from each report. By default 1m; with 0s it is ignored.",
	},
	{
		Name: "block", Kind: FieldSpan, implies: true,
		number: &number{of: func(n *algo.Limit) *int64 { return &n.Block }, within: betweenSpans(time.Millisecond, longestBlock), byDefault: func(l *spec) int64 { return l.numbers.Period }},
		About:  "The length of a key's first block. Each further block is twice as long, up to max_block. By default the window.",
	},
	{
		Name: "max_block", Kind: FieldSpan, Accepted: "block to 366d, in whole microseconds", implies: true,
		number: &number{
			of:        func(n *algo.Limit) *int64 { return &n.MaxBlock },
			within:    func(n *algo.Limit) (int64, int64) { return n.Block, longestBlock.Microseconds() },
			byDefault: func(l *spec) int64 { return min(32*l.numbers.Block, longestBlock.Microseconds()) },
		},
		About: "The length of the longest block. By default 32 times block.",
	},
	{
		Name: "forget", Kind: FieldSpan, Accepted: "max_block to 366d, in whole microseconds", implies: true,
		number: &number{
			of:        func(n *algo.Limit) *int64 { return &n.Forget },
			within:    func(n *algo.Limit) (int64, int64) { return n.MaxBlock, longestBlock.Microseconds() },
			byDefault: func(l *spec) int64 { return l.numbers.MaxBlock },
		},
		About: "The time after which one block is forgotten. By default max_block.",
	},
	{
		Name: "align", Kind: FieldWord, Accepted: "first, clock, or an IANA time zone such as Europe/Paris", implies: true,
		text:  alignText,
		About: "The start of the windows: the first request (the default), multiples of the period since 1970 UTC (clock), or the calendar of a time zone.",
	},
	{
		Name: "anchor", Kind: FieldWord, Accepted: anchorAccepted,
		text:  anchorText,
		About: "The start of one window in a time zone. The others start on the same weekday or day, at the same time. By default Monday, or the first day of the month or year, at midnight. In a month without the day, a window starts on the last day.",
	},
	{
		Name: "segments", Kind: FieldUnits, Accepted: "1 to 1000, dividing the window in whole microseconds",
		text:  segmentsText,
		About: "The number of segments of the window. By default the largest number up to 50 that divides the window, and 1 for the variants weighted and lenient.",
	},
	{
		Name: "segment", Kind: FieldSpan, Accepted: "a length that goes 1 to 1000 times into every window",
		text:  segmentText,
		About: "The length of a segment, instead of segments. Several windows need it.",
	},
	{
		Name: "variant", Kind: FieldWord, Accepted: "weighted, strict, lenient",
		text:  variantText,
		About: "How the oldest segment counts: in full (strict, the default), in proportion to the part that the window still covers (weighted), or not at all (lenient).",
	},
	{
		Name: "windows", Kind: FieldRates, Accepted: "1 to 8",
		About: "Several windows over one record. A shorter window needs a smaller limit than a longer one.",
	},
	{
		Name: "lease", Kind: FieldSpan,
		number: &number{of: func(n *algo.Limit) *int64 { return &n.Period }, within: betweenSpans(time.Millisecond, longest), byDefault: func(l *spec) int64 { return l.numbers.Period }},
		text:   leaseText,
		About:  "How long units are held without a renewal. By default 1m.",
	},
	{
		Name: "count_denied", Kind: FieldFlag, Accepted: "true, false",
		flag:  func(n *algo.Limit) *bool { return &n.CountDenied },
		About: "Denied requests count too, so a caller that keeps trying stays denied.",
	},
	{
		Name: "next_pays", Kind: FieldFlag, Accepted: "true, false",
		flag:  func(n *algo.Limit) *bool { return &n.NextPays },
		About: "A request passes regardless of its cost, once no earlier cost is outstanding. Its cost delays the next request. Not with debt.",
	},
	{
		Name: "name", Kind: FieldWord, Accepted: "1 to 64 bytes",
		text:  nameText,
		About: "The limit's name, in denials and in the name of the counter. By default it is default, or the position in a list of limits. Limits of one algorithm in one request need different names.",
	},
})

// fieldsOf contains each algorithm's fields, in the order of the limit's text.
var fieldsOf = func() [][]*Field {
	of := make([][]*Field, len(algo.Algorithms())+1)
	for _, a := range algo.Algorithms() {
		for _, name := range a.Fields() {
			of[a] = append(of[a], fieldNamed(name))
		}
	}
	return of
}()

// fields returns the set of the limit's fields that are not at their default.
func (l *spec) fields() algo.Fields {
	var names []string
	for _, f := range fieldsOf[l.numbers.Algorithm] {
		_, several := l.numbers.Window(0)
		if f.written(l) != "" || f.Kind == FieldRates && several {
			names = append(names, f.Name)
		}
	}
	return algo.FieldsOf(names...)
}

// Fields returns the fields that a limit can have in addition to its rate.
func Fields() iter.Seq[Field] { return slices.Values(fields) }

// On reports whether limits of the algorithm have the field.
func (f *Field) On(a algo.Algorithm) bool { return a.Has(f.Name) }

// Implies returns the algorithm of a limit whose text has the field and names no algorithm, or [algo.None].
func (f *Field) Implies() algo.Algorithm {
	if !f.implies {
		return algo.None
	}
	all := algo.Algorithms()
	return all[slices.IndexFunc(all, f.On)]
}

// fieldNamed returns the field with the given name, or nil if the name is unknown.
func fieldNamed(name string) *Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

// Setting sets one field of a limit. Field is the name of the limit's field. The value is in one of the other fields
// of the struct, depending on the kind of the limit's field.
type Setting struct {
	Field string
	Units int64
	Span  time.Duration
	Word  string
	Rates []Rate
}

// ParseSetting parses a field's value from text.
func ParseSetting(field, text string) (Setting, error) {
	f, s := fieldNamed(field), Setting{Field: field}
	if f == nil {
		return s, invalid("field", field, fieldNames())
	}
	var err error
	switch f.Kind {
	case FieldUnits:
		if s.Units, err = parseWhole(text); err != nil {
			return s, invalid(field, text, "a whole number")
		}
	case FieldSpan:
		s.Span, err = ParseSpan(text)
	default:
		s.Word = text
	}
	return s, err
}

// fieldNames lists the words that can follow the rates in a limit's text form.
func fieldNames() string {
	var names []string
	for i := range fields {
		switch fields[i].Name {
		case "windows": // written as rates
		case "variant":
			names = append(names, fields[i].Accepted)
		default:
			names = append(names, fields[i].Name)
		}
	}
	return strings.Join(names, ", ")
}
