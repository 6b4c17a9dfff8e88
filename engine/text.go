package engine

import (
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine/algo"
)

// String writes the limit in its text form, which [ParseLimit] reads back:
//
//	100/s burst 200
//	pacer 10/s max_wait 2s
//	warm-up 10/s warm_up 30s burst 5
//	fixed-window 1000/1d align Asia/Shanghai
//	sliding-window 100/1m segments 10 strict
//	sliding-log 5/1m 50/1h name "reply"
//	concurrency 10 lease 30s
//	deny
//	unlimited
func (l Limit) String() string {
	s := l.of()
	n := &s.numbers
	var b strings.Builder
	switch n.Algorithm {
	case algo.None:
		return "invalid limit"
	case algo.TokenBucket:
	default:
		b.WriteString(n.Algorithm.String())
	}
	word := func(words ...string) {
		for _, w := range words {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w)
		}
	}
	if n.Algorithm == algo.Concurrency {
		word(strconv.FormatInt(n.Count, 10), "lease", formatSpan(micros(n.Period)))
	} else {
		for _, r := range l.Rates() {
			word(r.String())
		}
	}
	s.writeFields(word)
	if n.CountDenied {
		word("count_denied")
	}
	if n.NextPays {
		word("next_pays")
	}
	if s.name != "" {
		word("name", strconv.Quote(s.name))
	}
	return b.String()
}

func (l *spec) writeFields(word func(...string)) {
	n := &l.numbers
	units := func(field string, units int64) { word(field, strconv.FormatInt(units, 10)) }
	switch n.Algorithm {
	case algo.TokenBucket:
		if n.Burst != n.Count*l.scale {
			units("burst", n.Burst)
		}
		if n.Queue > 0 && !n.NextPays {
			units("debt", n.Queue)
		}
	case algo.WarmUp:
		word("warm_up", formatSpan(micros(n.WarmUp)))
		if n.Burst != 1 {
			units("burst", n.Burst)
		}
	case algo.Pacer:
		if n.Burst != 1 {
			units("burst", n.Burst)
		}
		if n.HasWait {
			word("max_wait", formatSpan(micros(n.MaxWait)))
		}
		if n.HasQueue {
			units("max_queue", n.Queue)
		}
	case algo.FixedWindow:
		switch n.Align {
		case algo.AlignClock:
			word("align", "clock")
		case algo.AlignCalendar:
			word("align", n.Zone.String())
		}
	case algo.SlidingWindow:
		if _, several := n.Window(0); several {
			word("segment", formatSpan(micros(n.Segment)))
		} else {
			units("segments", n.Period/n.Segment)
		}
		word(n.Variant.String())
	}
}

// ParseLimit reads the text form that [Limit.String] writes. The algorithm is optional: a
// rate alone is a token bucket, one with max_wait or max_queue a pacer, one with align a
// fixed window. Other names of an algorithm (gcra, leaky-bucket, funnel) are accepted.
// The error is an [*InputError].
func ParseLimit(text string) (Limit, error) {
	p, err := ParseParts(text)
	if err != nil {
		return Limit{}, err
	}
	limit := Build(p.Algorithm, p.Rates, p.Settings...)
	return limit, limit.Err()
}

// Parts are what a text says of a limit. They are read, and not yet checked together.
type Parts struct {
	Algorithm algo.Algorithm
	// Rates are as [Limit.Rates] has them. DenyAll and NoLimit have none.
	Rates []Rate
	// Settings are the fields that the text has.
	Settings []Setting
}

// ParseParts reads the parts of a text that [ParseLimit] makes a limit of. The error is an
// [*InputError].
func ParseParts(text string) (Parts, error) {
	words, err := splitWords(text)
	if err != nil || len(words) == 0 {
		return Parts{}, invalid("limit", text, `a text such as "100/s burst 200" or "sliding-log 5/1m"`)
	}
	p := parser{words: words}
	a, named := ParseAlgorithm(words[0])
	if named {
		p.words = words[1:]
	}
	switch a {
	case algo.DenyAll, algo.Unlimited:
		if len(p.words) > 0 {
			return Parts{}, invalid("limit", text, a.String()+" alone")
		}
		return Parts{Algorithm: a}, nil
	case algo.Concurrency:
		err = p.count()
	default:
		err = p.allRates()
	}
	if err != nil {
		return Parts{}, err
	}
	settings, err := p.settings()
	if !named {
		a = p.implied
	}
	return Parts{Algorithm: a, Rates: p.rates, Settings: settings}, err
}

// ParseAlgorithm returns the algorithm with the name or alias; ok is false if there is
// none.
func ParseAlgorithm(name string) (a algo.Algorithm, ok bool) {
	switch name {
	case "gcra", "leaky-bucket", "funnel":
		return algo.TokenBucket, true
	}
	for a := algo.TokenBucket; a <= algo.Unlimited; a++ {
		if a.String() == name {
			return a, true
		}
	}
	return algo.None, false
}

// algorithmNames returns the names of the algorithms that have a rate.
func algorithmNames() (names []string) {
	for a := algo.TokenBucket; a < algo.DenyAll; a++ {
		names = append(names, a.String())
	}
	return names
}
