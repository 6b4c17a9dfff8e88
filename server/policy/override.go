package policy

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/headgate/headgate"
)

// maxPatterns bounds the patterns of one policy, which are tried one by one.
const maxPatterns = 1000

// overrides are a policy's exceptions by key: an exact key beats the longest
// pattern, which beats the policy.
type overrides struct {
	exact    map[string]headgate.Limit
	patterns []pattern // longest first
}

type pattern struct {
	text  string
	parts []string // between the stars
	limit headgate.Limit
}

func (o *overrides) add(key string, limit headgate.Limit) error {
	if !strings.Contains(key, "*") {
		if o.exact == nil {
			o.exact = map[string]headgate.Limit{}
		}
		if _, twice := o.exact[key]; twice {
			return refuse("key", quote(key), "each key once for a policy")
		}
		o.exact[key] = limit
		return nil
	}
	for i := range o.patterns {
		if o.patterns[i].text == key {
			return refuse("key", quote(key), "each key once for a policy")
		}
	}
	if len(o.patterns) == maxPatterns {
		return refuse("key", quote(key), "at most 1000 patterns for a policy")
	}
	o.patterns = append(o.patterns, pattern{text: key, parts: strings.Split(key, "*"), limit: limit})
	sort.SliceStable(o.patterns, func(i, j int) bool { return len(o.patterns[i].text) > len(o.patterns[j].text) })
	return nil
}

// limits returns those of all exceptions.
func (o *overrides) limits() (limits []headgate.Limit) {
	o.each(func(_ string, limit headgate.Limit) { limits = append(limits, limit) })
	return limits
}

// each calls seen for each exception, in the order in which they are tried: exact
// keys by name, then patterns.
func (o *overrides) each(seen func(key string, limit headgate.Limit)) {
	for _, key := range slices.Sorted(maps.Keys(o.exact)) {
		seen(key, o.exact[key])
	}
	for i := range o.patterns {
		seen(o.patterns[i].text, o.patterns[i].limit)
	}
}

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

// matches reports whether the key is the parts in order, with anything between
// them.
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
