package policy

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/headgate/headgate"
)

// maxPatterns bounds the patterns of one policy, because find tries one after another.
const maxPatterns = 1000

// overrides are the limits of single keys of a policy. An exact key takes precedence
// over the patterns, and a longer pattern over a shorter one.
type overrides struct {
	exact    map[string]headgate.Limit
	patterns []pattern // longest first
}

type pattern struct {
	text  string
	parts []string // the texts between the stars
	limit headgate.Limit
}

// add adds the limit of a key, or of the keys that match a pattern.
func (o *overrides) add(key string, limit headgate.Limit) error {
	if !strings.Contains(key, "*") {
		if o.exact == nil {
			o.exact = map[string]headgate.Limit{}
		}
		if _, exists := o.exact[key]; exists {
			return invalid("key", quote(key), "each key once for a policy")
		}
		o.exact[key] = limit
		return nil
	}
	for i := range o.patterns {
		if o.patterns[i].text == key {
			return invalid("key", quote(key), "each key once for a policy")
		}
	}
	if len(o.patterns) == maxPatterns {
		return invalid("key", quote(key), "at most 1000 patterns for a policy")
	}
	o.patterns = append(o.patterns, pattern{text: key, parts: strings.Split(key, "*"), limit: limit})
	sort.SliceStable(o.patterns, func(i, j int) bool { return len(o.patterns[i].text) > len(o.patterns[j].text) })
	return nil
}

// limits returns the limits of all overrides.
func (o *overrides) limits() (limits []headgate.Limit) {
	o.each(func(_ string, limit headgate.Limit) { limits = append(limits, limit) })
	return limits
}

// each calls visit for each override in the order of precedence: exact keys by name,
// then patterns.
func (o *overrides) each(visit func(key string, limit headgate.Limit)) {
	for _, key := range slices.Sorted(maps.Keys(o.exact)) {
		visit(key, o.exact[key])
	}
	for i := range o.patterns {
		visit(o.patterns[i].text, o.patterns[i].limit)
	}
}

// find returns the limit of a key.
func (o *overrides) find(key string) (headgate.Limit, bool) {
	if o == nil {
		return headgate.Limit{}, false
	}
	if limit, ok := o.exact[key]; ok {
		return limit, true
	}
	for i := range o.patterns {
		if o.patterns[i].matches(key) {
			return o.patterns[i].limit, true
		}
	}
	return headgate.Limit{}, false
}

// matches reports whether the key consists of the parts in order, with any bytes
// between them.
func (p *pattern) matches(key string) bool {
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(key) < len(first)+len(last) || !strings.HasPrefix(key, first) || !strings.HasSuffix(key, last) {
		return false
	}
	middle := key[len(first) : len(key)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		i := strings.Index(middle, part)
		if i < 0 {
			return false
		}
		middle = middle[i+len(part):]
	}
	return true
}
