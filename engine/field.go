package engine

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Field is a field that a limit can have in addition to its rate. One table is used for limits in Go, as text, in
// policy files and in JSON.
type Field struct {
	// Name is the field's name in each of these forms.
	Name string
	// Kind is the type of the value.
	Kind FieldKind
	// Accepted describes the accepted values.
	Accepted string
	// About describes the purpose of the field.
	About string

	// implies is true if the field implies the only algorithm that has it, in a text without an algorithm.
	implies bool
	// text returns the field in the text of a limit, or "" for the default.
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
	// FieldFlag has no value in a text, and is true or false elsewhere.
	FieldFlag
	// FieldRates are more windows.
	FieldRates
)

var fields = []Field{
	{
		Name: "burst", Kind: FieldUnits, Accepted: unitsAccepted,
		text:  burstText,
		About: "How many units pass at once from idle. By default the rate's count, and 1 for a pacer and a warm-up.",
	},
	{
		Name: "debt", Kind: FieldUnits, Accepted: orZeroAccepted,
		text:  debtText,
		About: "By how many units the bucket can be overdrawn while something is left in it. By default 0.",
	},
	{
		Name: "max_wait", Kind: FieldSpan, Accepted: "0s to 36525d, in whole microseconds", implies: true,
		text:  maxWaitText,
		About: "The longest delay that is handed out. A pacer needs max_wait, max_queue or both.",
	},
	{
		Name: "max_queue", Kind: FieldUnits, Accepted: orZeroAccepted, implies: true,
		text:  maxQueueText,
		About: "How many units can wait. A pacer needs max_wait, max_queue or both.",
	},
	{
		Name: "warm_up", Kind: FieldSpan, Accepted: spanAccepted, implies: true,
		text:  warmUpText,
		About: "How long a cold limit takes to reach its rate, if it is used as much as it allows. It begins with a third of the rate.",
	},
	{
		Name: "weight", Kind: FieldUnits, Accepted: WeightAccepted, implies: true,
		text:  weightText,
		About: "How many times as much a key can have as one of weight 1, while both ask for more. By default 1.",
	},
	{
		Name: "guarantees", Kind: FieldWord, Accepted: guaranteesAccepted, implies: true,
		text:  guaranteesText,
		About: "The part that each class has for certain, in units per window, the most important class first: 700,200,0. Each can have a burst of its own, 700:100, and a ceiling, 200-500. By default its burst is half of its part of the burst.",
	},
	{
		Name: "lend", Kind: FieldWord, Accepted: lendAccepted, implies: true,
		text:  lendText,
		About: "The borrowers of the unused part of a guarantee: all classes (the default), or down, the classes after it before all.",
	},
	{
		Name: "rank", Kind: FieldUnits, Accepted: "1 to the number of guarantees", implies: true,
		text:  rankText,
		About: "The class of the requests, from 1. By default the last; the classes of a policy set it.",
	},
	{
		Name: "min", Kind: FieldUnits, Accepted: "1 to the rate's count", implies: true,
		text:  func(l *spec) string { return unitsText("min", l.numbers.Min) },
		About: "The slowest rate, in units per window.",
	},
	{
		Name: "max", Kind: FieldUnits, Accepted: fmt.Sprintf("the rate's count to %d", fastestAdaptive), implies: true,
		text:  func(l *spec) string { return unitsText("max", l.numbers.Max) },
		About: "The fastest rate, in units per window.",
	},
	{
		Name: "interval", Kind: FieldSpan, Accepted: intervalAccepted, implies: true,
		text:  intervalText,
		About: "The time between two steps of the rate, and more if there are fewer than 10 reports. By default 1s.",
	},
	{
		Name: "failures", Kind: FieldUnits, Accepted: failuresAccepted, implies: true,
		text:  failuresText,
		About: "The percentage of failed requests beyond which the rate falls. By default 5.",
	},
	{
		Name: "max_pause", Kind: FieldSpan, Accepted: "0s to 1h, in whole microseconds", implies: true,
		text:  maxPauseText,
		About: "How long a Retry-After of the upstream can stop all requests, counted from each report. By default 1m; with 0s it is ignored.",
	},
	{
		Name: "block", Kind: FieldSpan, Accepted: blockAccepted, implies: true,
		text:  blockText,
		About: "How long the first block of a key lasts. Each further block is twice as long, up to max_block. By default the window.",
	},
	{
		Name: "max_block", Kind: FieldSpan, Accepted: "block to 366d, in whole microseconds", implies: true,
		text:  maxBlockText,
		About: "How long a block lasts at most. By default 32 times block.",
	},
	{
		Name: "forget", Kind: FieldSpan, Accepted: "max_block to 366d, in whole microseconds", implies: true,
		text:  forgetText,
		About: "After how long one block is forgotten. By default max_block.",
	},
	{
		Name: "align", Kind: FieldWord, Accepted: "first, clock, or an IANA time zone such as Europe/Paris", implies: true,
		text:  alignText,
		About: "Where windows start: at the first request (the default), at multiples of the period since 1970 UTC (clock), or with the calendar of a time zone.",
	},
	{
		Name: "anchor", Kind: FieldWord, Accepted: anchorAccepted,
		text:  anchorText,
		About: "When one of the windows of a time zone starts; the others follow on the same weekday or day, and at the same time. By default Monday, the first day of the month or year, and midnight. A month without the day starts on its last.",
	},
	{
		Name: "segments", Kind: FieldUnits, Accepted: "1 to 1000, dividing the window in whole microseconds",
		text:  segmentsText,
		About: "Into how many segments the window is divided. By default 1, and 50 for the variant strict.",
	},
	{
		Name: "segment", Kind: FieldSpan, Accepted: "a length that goes 1 to 1000 times into every window",
		text:  segmentText,
		About: "How long a segment is, in the place of segments. Several windows need it.",
	},
	{
		Name: "variant", Kind: FieldWord, Accepted: "weighted, strict, lenient",
		text:  variantText,
		About: "How the oldest segment counts: by the share that the window still covers (weighted, the default), whole (strict), or not at all (lenient).",
	},
	{
		Name: "windows", Kind: FieldRates, Accepted: "1 to 8",
		About: "Several windows over one record. Each shorter window has a smaller limit than the longer ones.",
	},
	{
		Name: "lease", Kind: FieldSpan, Accepted: spanAccepted,
		text:  leaseText,
		About: "How long units are held unless the holder renews them. By default 1m.",
	},
	{
		Name: "count_denied", Kind: FieldFlag, Accepted: "true, false",
		text:  countDeniedText,
		About: "Denied requests count too: a caller that does not stop stays denied.",
	},
	{
		Name: "next_pays", Kind: FieldFlag, Accepted: "true, false",
		text:  nextPaysText,
		About: "A request passes whatever it costs, once no earlier cost is outstanding: its own cost delays the next one.",
	},
	{
		Name: "name", Kind: FieldWord, Accepted: "1 to 64 bytes",
		text:  nameText,
		About: "The limit's name. Denials show it, and the counter is called by it. Limits of one algorithm in one request need different names.",
	},
}

// Fields returns the fields that a limit can have in addition to its rate.
func Fields() iter.Seq[Field] { return slices.Values(fields) }

// On reports whether limits of the algorithm have the field.
func (f *Field) On(a algo.Algorithm) bool { return a.Has(f.Name) }

// only returns the single algorithm that has the field.
func (f *Field) only() algo.Algorithm {
	all := algo.Algorithms()
	return all[slices.IndexFunc(all, f.On)]
}

// fieldNamed returns the field with the name, or nil.
func fieldNamed(name string) *Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

// Setting sets one field of a limit. Field is its name; the value is in the member for the field's kind.
type Setting struct {
	Field string
	Units int64
	Span  time.Duration
	Word  string
	Rates []Rate
}

// ParseSetting parses the text form of a field's value.
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
		case "windows": // are rates
		case "variant":
			names = append(names, fields[i].Accepted)
		default:
			names = append(names, fields[i].Name)
		}
	}
	return strings.Join(names, ", ")
}
