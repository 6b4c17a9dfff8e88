package spaces

import (
	"strings"

	"github.com/headgate/headgate/engine"
)

// Decided returns the value of the policy that an operation was decided by: that of the
// binding limit. A shadow is of the policy that it stands beside. Limiters with a name
// space of their own count as others.
func (m *Map[V]) Decided(op *engine.Op, binding int) V {
	space := op.Space
	if binding < len(op.Charges) {
		space, _ = op.Subject(binding)
	}
	if at := strings.Index(space, engine.PolicySpace("")); at > 0 {
		space = space[at:]
	}
	if op.Shadow {
		space = strings.TrimSuffix(space, ":shadow")
	}
	return m.Of(space)
}
