package headgate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Limit is a rule for the units of one key: a [TokenBucket], [AdaptiveRate], [Pacer], [WarmUp], [FairShare], [FairPacer],
// [FixedWindow], [SlidingWindow], [SlidingLog] or [Penalty], or the result of [ParseLimit], [NoLimit] or [DenyAll]. A
// policy validates its limits: see [Policy.Err]. To limit the units held at the same time, use a [Semaphore].
//
// Every limit can have a Name of 1 to 64 bytes. It is part of the counter's name, and appears in denials. In a policy
// with several limits, unnamed limits are named 1, 2, … by position, so each has its own counter.
type Limit interface {
	rule() engine.Limit
}

// parsed implements Limit for an engine limit, such as the result of ParseLimit.
type parsed engine.Limit

func (p parsed) rule() engine.Limit { return engine.Limit(p) }

// String returns the limit as text.
func (p parsed) String() string { return engine.Limit(p).String() }

// ParseLimit reads a limit from text such as "100/s burst 200" or "sliding-log 5/1m 50/1h";
// docs/reference/limits.md describes every form. The error matches [ErrInvalid].
func ParseLimit(text string) (Limit, error) {
	limit, err := engine.ParseLimit(text)
	return parsed(limit), err
}

// DenyAll returns the limit that denies every request: limit 0, remaining 0, retry after [Never].
func DenyAll() Limit { return parsed(engine.Build(algo.DenyAll, nil)) }

// NoLimit returns the limit that allows every request. Its decisions set [Decision].Unlimited; their Limit and
// Remaining have no meaning.
func NoLimit() Limit { return parsed(engine.Build(algo.Unlimited, nil)) }

// build returns an engine limit. It drops settings that the caller left zero, so that the defaults apply. If the limit
// is invalid, its error names the field of the Go type, such as Rate.Count or MaxWait.
func build(a algo.Algorithm, rate Rate, settings ...engine.Setting) engine.Limit {
	given := settings[:0]
	for _, s := range settings {
		if s.Field != "" {
			given = append(given, s)
		}
	}
	limit := engine.Build(a, []engine.Rate{engine.Rate(rate)}, given...)
	input, ok := errors.AsType[*engine.InputError](limit.Err())
	if !ok {
		return limit
	}
	rates := []engine.Rate{engine.Rate(rate)}
	for _, s := range given {
		rates = append(rates, s.Rates...)
	}
	given = slices.DeleteFunc(given, func(s engine.Setting) bool { return s.Field == "windows" })
	at := 0 // the window at fault: the last of the fewest that have the error
	for at < len(rates)-1 {
		some := engine.Build(a, rates[:at+1], given...).Err()
		if same, ok := errors.AsType[*engine.InputError](some); ok && *same == *input {
			break
		}
		at++
	}
	field := member(a, input.Field)
	if (input.Field == "rate" || input.Field == "window") && rates[at].Months != 0 {
		field = "Rate.Months"
	}
	if at > 0 && strings.HasPrefix(field, "Rate") {
		field = fmt.Sprintf("And[%d]%s", at-1, strings.TrimPrefix(field, "Rate"))
	}
	return engine.Invalid(&engine.InputError{Field: field, Value: input.Value, Accepted: accepted(a, input), Meant: input.Meant})
}

// accepted returns the accepted values stated in an error, with the Go names of what files name: fields, algorithms and
// variants.
func accepted(a algo.Algorithm, input *engine.InputError) string {
	words := strings.Fields(input.Accepted)
	for i, word := range words {
		name := strings.Trim(word, "(),;:")
		_, algorithm := engine.ParseAlgorithm(name)
		if algorithm || strings.Contains(name, "_") || slices.Contains(a.Fields(), name) || slices.Contains(variants, name) {
			words[i] = strings.Replace(word, name, member(a, name), 1)
		}
	}
	return strings.Join(words, " ")
}

var variants = []string{Strict.String(), Weighted.String(), Lenient.String()}

// members maps fields in policy files to differently named fields of the Go types.
var members = map[string]string{
	"limit": "Rate.Count", "window": "Rate.Period",
	"windows": "And", "segment": "SegmentLength", "warm_up": "Over",
}

// member returns the Go name of a word in policy files, such as MaxWait for max_wait and SlidingLog for sliding-log. If it
// is a field, the algorithm's type has a struct field with this name.
func member(a algo.Algorithm, word string) string {
	if word == "limit" && a.Holds() {
		return "Units"
	}
	if name, ok := members[word]; ok {
		return name
	}
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(word, func(c rune) bool { return c == '_' || c == '-' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func units(field string, n int64) (s engine.Setting) {
	if n != 0 {
		s = engine.Setting{Field: field, Units: n}
	}
	return s
}

func span(field string, d time.Duration) (s engine.Setting) {
	if d != 0 {
		s = engine.Setting{Field: field, Span: d}
	}
	return s
}

func word(field, text string) (s engine.Setting) {
	if text != "" {
		s = engine.Setting{Field: field, Word: text}
	}
	return s
}

func flag(field string, set bool) (s engine.Setting) {
	if set {
		s.Field = field
	}
	return s
}

func windows(more []Rate) (s engine.Setting) {
	if len(more) == 0 {
		return s
	}
	s.Field = "windows"
	for _, rate := range more {
		s.Rates = append(s.Rates, engine.Rate(rate))
	}
	return s
}
