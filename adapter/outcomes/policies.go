package outcomes

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/engine"
)

// Most is the maximum number of namespaces with their own values. All further namespaces share the value for Other.
const Most = 1000

// Inline and Other are labels for namespaces without a policy of their own. Policy names cannot contain parentheses.
const (
	Inline = "(inline)" // any namespace that does not belong to a policy
	Other  = "(other)"  // policies beyond Most, and names that are not valid for a policy
)

// Map maps the namespaces of operations to values. It is safe for concurrent use.
type Map[V any] struct {
	add   func(policy string) V
	other V

	known   atomic.Pointer[map[string]V]
	growing sync.Mutex
}

// NewMap returns a map whose values are created by add. add is called once for each policy name, for Inline and for
// Other.
func NewMap[V any](add func(policy string) V) *Map[V] {
	inline := add(Inline)
	m := &Map[V]{add: add, other: add(Other)}
	m.known.Store(&map[string]V{Inline: inline})
	return m
}

// Decided returns the value for the policy that decided an operation, which is the binding limit's policy. A shadow
// belongs to the policy that it shadows.
func (m *Map[V]) Decided(op *engine.Op, binding int) V {
	space := op.Space
	if binding < len(op.Charges) {
		space, _ = op.Subject(binding)
	}
	return m.Of(space)
}

// Of returns the value for a namespace. It does not retain the string.
func (m *Map[V]) Of(space string) V {
	name, _ := engine.PolicyOf(space)
	return m.Named(name)
}

// Named returns the value for a policy or, if name is empty, the value for limits without a policy. It does not retain
// the string.
func (m *Map[V]) Named(name string) V {
	if name == "" {
		name = Inline
	}
	if v, ok := (*m.known.Load())[name]; ok {
		return v
	}
	if engine.CheckPolicyName(name) != nil { // such as bytes that are not valid text
		return m.other
	}
	m.growing.Lock()
	defer m.growing.Unlock()
	known := *m.known.Load()
	if v, ok := known[name]; ok {
		return v
	}
	if len(known) > Most {
		return m.other
	}
	next := make(map[string]V, len(known)+1)
	maps.Copy(next, known)
	name = strings.Clone(name)
	next[name] = m.add(name)
	m.known.Store(&next)
	return next[name]
}
