package headgate

import (
	"sync"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
)

// names remembers the limits of the policies and semaphores that the program made, by name. Two policies with one name
// and different limits share counters, and each decides by its own numbers. That is usually a copied name, so it is an
// error.
type names struct {
	mu sync.Mutex
	of map[definition]*core.Policy
}

type definition struct{ kind, name string }

// maxNames bounds the names that are remembered, for programs that make a policy for each customer.
const maxNames = 10_000

// add makes the policy invalid if an earlier one with the same name has other limits.
func (n *names) add(p *Policy) {
	if p.Err() != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	of := definition{p.kind, p.core.Name()}
	before, known := n.of[of]
	switch {
	case !known && len(n.of) < maxNames:
		if n.of == nil {
			n.of = map[definition]*core.Policy{}
		}
		n.of[of] = p.core
	case known && !before.SameLimits(p.core):
		*p = *p.on(p.core.With(engine.Invalid(&engine.InputError{
			Field: "limits", Value: p.core.LimitsText(),
			Accepted: before.LimitsText() + ", as in the first " + p.kind + " of this name; With makes one with other limits",
		})))
	}
}
