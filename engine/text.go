package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine/algo"
)

// String formats the limit in its text form, which [ParseLimit] reads:
//
//	100/s burst 200
//	pacer 10/s max_wait 2s
//	warm-up 10/s warm_up 30s burst 5
//	fixed-window 1000/1d align Asia/Shanghai
//	sliding-window 100/1m segments 10
//	sliding-log 5/1m 50/1h name "reply"
//	concurrency 10 lease 30s
//	deny
//	unlimited
func (l Limit) String() string {
	s := l.of()
	n := &s.numbers
	if s.err != nil {
		return "invalid limit"
	}
	var words []string
	if n.Algorithm != unnamed {
		words = append(words, n.Algorithm.String())
	}
	if n.Algorithm.Holds() {
		words = append(words, strconv.FormatInt(n.Count, 10))
	} else {
		for _, r := range l.Rates() {
			words = append(words, r.String())
		}
	}
	for _, f := range fieldsOf[n.Algorithm] {
		words = append(words, f.written(s))
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// unnamed is the algorithm of a limit whose text does not name an algorithm.
const unnamed = algo.TokenBucket

// ParseLimit parses the text form written by [Limit.String]. The algorithm is optional. If none is named, a field with
// a value can imply one ([Field.Implies]): max_wait implies a pacer, align a fixed window, and warm_up a warm-up.
// Otherwise the limit is a token bucket. Aliases of an algorithm (gcra, leaky-bucket, funnel) are accepted. The error
// is an [*InputError].
func ParseLimit(text string) (Limit, error) {
	p, err := ParseParts(text)
	if err != nil {
		return Limit{}, err
	}
	limit := Build(p.Algorithm, p.Rates, p.Settings...)
	return limit, limit.Err()
}

// Parts holds the parts of a limit's text, parsed but not yet checked together.
type Parts struct {
	Algorithm algo.Algorithm
	// Rates is as in [Limit.Rates]. It is empty for DenyAll and NoLimit.
	Rates []Rate
	// Settings contains the fields given in the text.
	Settings []Setting
	// Named is set if the text names the algorithm, or a field that implies it.
	Named bool
}

// ParseParts parses the parts of a limit's text, for [ParseLimit]. The error is an [*InputError].
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
	switch {
	case a.Constant():
		if len(p.words) > 0 {
			return Parts{}, invalid("limit", text, a.String()+" alone")
		}
		return Parts{Algorithm: a, Named: true}, nil
	case a.Holds():
		err = p.count()
	default:
		err = p.allRates()
	}
	if err != nil {
		if len(p.rates) == 0 && !named && meantRate(text) != "" { // in several words
			err = invalidRate(text)
		}
		return Parts{}, err
	}
	settings, err := p.settings()
	if !named {
		a = p.implied
	}
	return Parts{Algorithm: a, Rates: p.rates, Settings: settings, Named: named || a != unnamed}, err
}

// ParseAlgorithm returns the algorithm with the given name or alias. ok is false if there is no such algorithm.
func ParseAlgorithm(name string) (a algo.Algorithm, ok bool) {
	for _, a := range algo.Algorithms() {
		if a.HasName(name) {
			return a, true
		}
	}
	return algo.None, false
}

func algorithmNames() (names []string) {
	for _, a := range algo.Algorithms() {
		if !a.Constant() {
			names = append(names, a.String())
		}
	}
	return names
}
