package route

import "iter"

// Charge is one charge of a route: policies that are charged the same cost under the same key. A limit in several of
// these policies is charged once.
type Charge struct {
	// Policies are the names of the policies, in order.
	Policies []string
	// Key lists the parts of the key, 1 to MaxParts.
	Key []Part
	// Cost is the cost of a request. The zero value means each policy's own cost.
	Cost Cost
}

// MaxParts is the maximum number of parts that a key can have.
const MaxParts = 8

// Item is one charge of a route for a particular request.
type Item struct {
	// Key is the request's key: the parts, joined.
	Key string
	// Cost is the request's cost. If HasCost is false, each policy's own cost applies.
	Cost    int64
	HasCost bool
}

// Policies yields the policy names in all charges, in order.
func (r *Route) Policies() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range r.Charges {
			for _, name := range r.Charges[i].Policies {
				if !yield(name) {
					return
				}
			}
		}
	}
}
