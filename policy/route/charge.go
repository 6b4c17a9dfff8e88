package route

import "iter"

// Charge is one charge of a route: its policies, under one key and at one cost. A limit that is in
// several of its policies is charged once.
type Charge struct {
	// Policies are the names of the policies, in order.
	Policies []string
	// Key has the parts of the key, 1 to MaxParts.
	Key []Part
	// Cost is what a request costs. The zero value leaves that to each policy.
	Cost Cost
}

// MaxParts is how many parts a key has at most.
const MaxParts = 8

// Item is what one charge of a route is for a request.
type Item struct {
	// Key is what the request is counted under: the parts, joined.
	Key string
	// Cost is what the request costs. If HasCost is false, each policy has its own.
	Cost    int64
	HasCost bool
}

// Policies yields the names of the policies of all charges, in order.
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
