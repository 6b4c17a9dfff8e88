package policy

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy/route"
)

// chargeReader builds one charge from its fields, which are either an entry of "charge" or the fields of a route with
// one key.
type chargeReader struct {
	*routeReader

	policies []string
	key      []keyFields
	cost     *costFields
	broken   bool     // a field had an error, so missing fields are not reported
	at       []string // the path from the route to the fields
	noPath   bool     // the segments of the path are unknown
}

// charges returns the route's charges. Their limits form one operation.
func (r *routeReader) charges(path *route.Path) []route.Charge {
	f := r.fields
	noPath := r.badPath || f.broken && f.Match.Path == nil
	readers := []chargeReader{{routeReader: r, policies: f.Policies, key: f.Key, cost: f.Cost, broken: f.broken, noPath: noPath}}
	field := "policies"
	if f.Charge != nil {
		readers, field = r.listed(noPath), "charge"
	} else if n := len(f.Policies); n < 1 && !f.broken || n > engine.MaxCharges {
		r.try(invalid("policies", strconv.Itoa(n)+" names", policiesAccepted))
	}
	charges, limits, before := make([]route.Charge, len(readers)), 0, []Charge(nil)
	for i := range readers {
		charges[i] = readers[i].read(path)
		all := readers[i].limits()
		readers[i].try(bothWays(all))
		readers[i].try(divided(all, before))
		before = append(before, all...)
		limits += len(distinctCharges(all))
	}
	if limits > engine.MaxCharges {
		r.try(invalid(field, strconv.Itoa(limits)+" limits", "policies with at most 32 limits together"))
	}
	checkSums(readers, charges)
	return charges
}

// divided returns an error if an earlier entry already charges a limit that divides its units among keys. The keys of
// both entries would count in one counter.
func divided(charges, before []Charge) error {
	for i := range charges {
		c := &charges[i]
		if c.Limit.Algorithm().Divides() && !c.Shadow && slices.ContainsFunc(before, func(b Charge) bool { return !b.Shadow && c.sameCounter(&b) }) {
			return invalid("policy", engine.Quote(c.Policy)+" twice", "a limit that divides its units among keys once in a route, because its keys share a counter")
		}
	}
	return nil
}

func (r *routeReader) listed(noPath bool) []chargeReader {
	f := r.fields
	if f.Key != nil || f.Policies != nil || f.Cost != nil {
		r.try(invalid("charge", "set with key, policies or cost", "charge alone, with a policy, a key and a cost in each entry; or key, policies and cost"))
	}
	if n := len(f.Charge); n < 1 || n > engine.MaxCharges {
		r.try(invalid("charge", strconv.Itoa(n)+" entries", chargesAccepted))
		return nil
	}
	readers := make([]chargeReader, len(f.Charge))
	for i := range f.Charge {
		c := &f.Charge[i]
		readers[i] = chargeReader{routeReader: r, key: c.Key, cost: c.Cost, broken: c.broken, at: []string{"charge", strconv.Itoa(i)}, noPath: noPath}
		if c.Policy != nil {
			readers[i].policies = []string{*c.Policy}
		} else if !c.broken {
			readers[i].try(invalid("policy", "not set", "the name of a policy in this file"))
		}
	}
	return readers
}

// try reports an error in one of the charge's fields.
func (r *chargeReader) try(err error, path ...string) {
	r.routeReader.try(err, slices.Concat(r.at, path)...)
}

func (r *chargeReader) read(path *route.Path) route.Charge {
	to := route.Charge{Policies: r.policies}
	if n := len(r.key); n < 1 && !r.broken || n > route.MaxParts {
		r.try(invalid("key", strconv.Itoa(n)+" parts", keyAccepted+"; {const: all} counts all requests together"))
	}
	for i := range r.key {
		if key := &r.key[i]; key.broken || key.Path != nil && r.noPath {
			continue // the part's error, or the error in the path with its segment, was already reported
		}
		part, err := r.key[i].part(path)
		r.try(err, "key", strconv.Itoa(i))
		to.Key = append(to.Key, part)
	}
	if r.cost != nil && !r.cost.broken {
		cost, err := r.cost.cost()
		r.try(err)
		to.Cost = cost
	}
	for i := range r.policies {
		r.checkPolicy(i)
	}
	return to
}

// checkPolicy checks that a request can charge the policy at index i.
func (r *chargeReader) checkPolicy(i int) {
	name, at := r.policies[i], []string{"policies", strconv.Itoa(i)}
	if r.at != nil {
		at = []string{"policy"}
	}
	p, ok := r.set.Get(name)
	switch {
	case !ok:
		r.try(&engine.InputError{Field: "policy", Value: engine.Quote(name), Accepted: "the name of a policy in this file", Meant: r.builder.nearest(name, r.set.names)}, at...)
		return
	case slices.Index(r.policies, name) < i:
		r.try(&engine.InputError{Field: "policy", Value: engine.Quote(name) + " twice", Accepted: "each policy once"}, at...)
		return
	}
	if p.choosing != nil {
		if other := r.choosing; other != nil {
			r.try(&engine.InputError{Field: "policy", Value: engine.Quote(name) + " beside " + engine.Quote(other.Name), Accepted: "one policy with first in a route, once"}, at...)
		}
		r.choosing = p
	}
	if p.holds() {
		r.checkHeld(p, at)
	}
	if len(r.key) == 1 && slices.ContainsFunc(p.members, func(m member) bool { return m.limit.Numbers().Nested }) {
		r.try(&engine.InputError{Field: "key", Value: "1 part", Accepted: "2 or more parts with policy " + engine.Quote(name) + ": its limit is nested, and the first part of a key is its group"}, "key")
	}
	if cost := r.cost; cost != nil && cost.number != nil && *cost.number <= algo.MaxUnits && *cost.number >= 0 {
		r.try(p.checkCost(*cost.number))
	}
}

// checkHeld checks a policy with a concurrency limit, whose permits the gateway holds while a request lasts.
func (r *chargeReader) checkHeld(p *Policy, at []string) {
	if !r.builder.file.gateway {
		r.try(&engine.InputError{Field: "policy", Value: engine.Quote(p.Name) + " with a concurrency limit", Accepted: "policies whose units are taken; only headgate gateway can hold permits while a request lasts"}, at...)
	}
	if r.cost == nil && p.Cost == 0 || r.cost != nil && r.cost.number != nil && *r.cost.number == 0 {
		r.try(invalid("cost", "0", "1 or more with policy "+engine.Quote(p.Name)+", whose permits are held"))
	}
}

// limits returns the limits of all policies of the charge. It skips unknown and repeated policies.
func (r *chargeReader) limits() (charges []Charge) {
	for i, name := range r.policies {
		if p, ok := r.set.Get(name); ok && slices.Index(r.policies, name) == i {
			charges = p.Charges(charges, "", 1)
		}
	}
	return charges
}

// checkSums reports charges for the same policy and key that can never pass because their sum exceeds the policy's
// capacity.
func checkSums(readers []chargeReader, charges []route.Charge) {
	for i := range readers {
		sum, together := int64(0), 0
		for j := range charges[:i+1] {
			if slices.Equal(charges[j].Policies, charges[i].Policies) && reflect.DeepEqual(charges[j].Key, charges[i].Key) {
				sum, together = sum+readers[j].units(), together+1
			}
		}
		if together > 1 {
			if p, ok := readers[i].set.Get(readers[i].policies[0]); ok {
				readers[i].try(p.checkCost(min(sum, algo.MaxUnits)))
			}
		}
	}
}

// units returns the charge's cost: the written number, or the cost of its one policy. It returns 1 if the cost comes
// from a header, or if no cost is written and there are several policies.
func (r *chargeReader) units() int64 {
	switch {
	case r.cost != nil && r.cost.number != nil:
		return max(0, *r.cost.number)
	case r.cost == nil && len(r.policies) == 1:
		if p, ok := r.set.Get(r.policies[0]); ok {
			return p.Cost
		}
	}
	return 1
}
