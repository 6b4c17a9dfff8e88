package route

import (
	"cmp"
	"iter"
	"net/http"

	"github.com/headgate/headgate/httplimit"
)

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

// items returns the charges of a request. lack is nil if it has all parts of their keys, or else says
// which part it lacks: one that cannot be read, or the first.
func (r *Route) items(v *view) (items []Item, lack *httplimit.NoKeyError) {
	items = make([]Item, len(r.Charges))
	for i := range r.Charges {
		var memory [MaxParts]string
		values, without := r.values(i, memory[:0], v)
		if lack == nil || without != nil && without.Unreadable {
			lack = cmp.Or(without, lack)
		}
		items[i].Key = join(values)
		items[i].Cost, items[i].HasCost = r.Charges[i].Cost.of(v)
	}
	if lack != nil {
		return nil, lack
	}
	return items, nil
}

// values appends the values of the parts of a charge's key. lack is as in items.
func (r *Route) values(charge int, values []string, v *view) (_ []string, lack *httplimit.NoKeyError) {
	c := &r.Charges[charge]
	for i := range c.Key {
		part := &c.Key[i]
		text, readable := part.value(v, &r.Match.Path)
		values = append(values, text)
		if readable && (text != "" || lack != nil) {
			continue
		}
		lack = &httplimit.NoKeyError{Part: part.String(), Unreadable: !readable, Status: http.StatusBadRequest}
		if readable {
			lack.Status = cmp.Or(r.EmptyKeyStatus, lack.Status)
		}
		if len(r.Charges) > 1 && len(c.Policies) > 0 {
			lack.Policy = c.Policies[0]
		}
	}
	return values, lack
}
