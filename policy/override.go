package policy

import (
	"maps"
	"slices"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/internal/glob"
)

// maxPatterns is the maximum number of patterns in one policy.
const maxPatterns = 100_000

// overrides are a policy's limits for single keys and patterns.
type overrides = byKey[rule]

// rule is the limit of an override. ends is the time, in µs since 1970, at which an operator's change ends, or 0.
type rule struct {
	engine.Limit

	ends int64
}

// byKey maps single keys and patterns to values. An exact key takes precedence over patterns, and a longer pattern over
// a shorter one.
type byKey[T any] struct {
	exact    map[string]T
	patterns glob.Set[T]
}

// add adds the value for a key, written as text ([KeyText]), or for the keys that match a pattern.
func (o *byKey[T]) add(key string, value T) error {
	if IsPattern(key) {
		if o.patterns.Len() == maxPatterns {
			return invalid("key", engine.Quote(key), "at most "+strconv.Itoa(maxPatterns)+" patterns for a policy")
		}
		if !o.patterns.Add(key, value) {
			return invalid("key", engine.Quote(key), "each key once for a policy")
		}
		return nil
	}
	if o.exact == nil {
		o.exact = map[string]T{}
	}
	key = OverrideKey(key)
	if _, exists := o.exact[key]; exists {
		return invalid("key", engine.Quote(key), "each key once for a policy")
	}
	o.exact[key] = value
	return nil
}

// any reports whether there are any overrides. o can be nil.
func (o *byKey[T]) any() bool { return o != nil && (len(o.exact) > 0 || o.patterns.Len() > 0) }

// values returns the values of all keys and patterns.
func (o *byKey[T]) values() (all []T) {
	o.each(func(_ string, value T) { all = append(all, value) })
	return all
}

// each calls visit for each override, with its key as text, in order of precedence: exact keys sorted by name, then
// patterns.
func (o *byKey[T]) each(visit func(text string, value T)) {
	for _, key := range slices.Sorted(maps.Keys(o.exact)) {
		visit(KeyText(key), o.exact[key])
	}
	o.patterns.Each(visit)
}

// find returns the value for a key. An exact override may use one of the key's other names. It takes precedence over
// patterns. ok is false if neither an exact override nor a pattern matches.
func (o *byKey[T]) find(key string, names []string) (value T, ok bool) {
	if o == nil {
		return value, false
	}
	if rule, ok := o.exactRule(key, names); ok {
		return o.exact[rule], true
	}
	return o.patterns.Find(key)
}

// exactRule returns the name that the key's exact override uses. ok is false if the key has no exact override. Other
// names are checked first. An operator's change can use the hash of a key, and the file can contain the same key in
// plain text.
func (o *byKey[T]) exactRule(key string, names []string) (rule string, ok bool) {
	for _, name := range names {
		if _, ok := o.exact[name]; ok {
			return name, true
		}
	}
	_, ok = o.exact[key]
	return key, ok
}
