package headgate

import (
	"sync"
	"unique"

	"github.com/headgate/headgate/engine"
)

// names remembers the limits of the policies and semaphores that the program made, by name. Two policies with one name
// and different limits share counters, and each decides by its own numbers. That is usually a copied name, so it is an
// error.
type names struct {
	mu sync.Mutex
	of map[definition]unique.Handle[limitList]
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
	of := definition{p.kind, p.name}
	before, known := n.of[of]
	switch {
	case !known && len(n.of) < maxNames:
		if n.of == nil {
			n.of = map[definition]unique.Handle[limitList]{}
		}
		n.of[of] = p.listed
	case known && before != p.listed:
		p.limits = []engine.Limit{engine.Invalid(&engine.InputError{
			Field: "limits", Value: p.listed.Value().String(),
			Accepted: before.Value().String() + ", as in the first " + p.kind + " of this name; With makes one with other limits",
		})}
		p.bind()
	}
}
