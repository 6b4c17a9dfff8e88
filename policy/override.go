package policy

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy/internal/glob"
)

// maxPatterns bounds the patterns of one policy.
const maxPatterns = 100_000

// overrides are the limits of single keys of a policy. An exact key takes precedence
// over the patterns, and a longer pattern over a shorter one.
type overrides struct {
	exact    map[string]headgate.Limit
	patterns glob.Set[headgate.Limit]
}

// add adds the limit of a key, or of the keys that match a pattern.
func (o *overrides) add(key string, limit headgate.Limit) error {
	if strings.Contains(key, "*") {
		if o.patterns.Len() == maxPatterns {
			return invalid("key", format.Quote(key), "at most "+strconv.Itoa(maxPatterns)+" patterns for a policy")
		}
		if !o.patterns.Add(key, limit) {
			return invalid("key", format.Quote(key), "each key once for a policy")
		}
		return nil
	}
	if o.exact == nil {
		o.exact = map[string]headgate.Limit{}
	}
	if _, exists := o.exact[key]; exists {
		return invalid("key", format.Quote(key), "each key once for a policy")
	}
	o.exact[key] = limit
	return nil
}

// any reports whether there is an override; o can be nil.
func (o *overrides) any() bool { return o != nil && (len(o.exact) > 0 || o.patterns.Len() > 0) }

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
	o.patterns.Each(visit)
}

// find returns the limit of a key, which exact overrides can have under other names too.
func (o *overrides) find(key string, names []string) (headgate.Limit, bool) {
	if o == nil {
		return headgate.Limit{}, false
	}
	if rule, ok := o.exactRule(key, names); ok {
		return o.exact[rule], true
	}
	return o.patterns.Find(key)
}

// exactRule returns the name of a key that has an exact override. The other names come
// first: a change of an operator has the hash of a key that the file can have as it is.
func (o *overrides) exactRule(key string, names []string) (rule string, ok bool) {
	for _, name := range names {
		if _, ok := o.exact[name]; ok {
			return name, true
		}
	}
	_, ok = o.exact[key]
	return key, ok
}
