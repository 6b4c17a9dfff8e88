package topkeys

import (
	"cmp"
	"slices"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

// part is the part of a request that belongs to one key: the whole request, or one of several charges.
type part struct {
	request int
	// charge is the index of the response's charge, or whole for the whole request.
	charge int
}

const whole = -1

// partsOf returns the parts of a call's requests. A request with several charges has several parts. It returns nil if
// every request has a single key.
func partsOf(o *service.Observed) []part {
	charges := func(r *decide.Response) bool { return r.Listed && r.Count() > 0 }
	several := false
	for i := range o.Responses {
		several = several || charges(&o.Responses[i])
	}
	if !several {
		return nil
	}
	var parts []part
	for i := range o.Responses {
		r, first := &o.Responses[i], len(parts)
		if !charges(r) {
			parts = append(parts, part{i, whole})
			continue
		}
		for at := range r.Count() {
			c := r.Charge(at)
			same := func(p part) bool { return r.Charge(p.charge).Policy == c.Policy && r.Charge(p.charge).Key == c.Key }
			if known := slices.IndexFunc(parts[first:], same); known < 0 {
				parts = append(parts, part{i, at})
			} else if r.Of(at).RetryAfter > 0 {
				parts[first+known].charge = at
			}
		}
	}
	return parts
}

func (p part) subject(o *service.Observed) (policy, key string) {
	if p.charge == whole {
		return o.Policy(p.request), o.Key(p.request)
	}
	c := o.Responses[p.request].Charge(p.charge)
	return cmp.Or(c.Policy, service.InlinePolicy), c.Key
}

// denies reports whether the key is a reason for the denial of its request. The request must have been denied.
func (p part) denies(o *service.Observed) bool {
	return p.charge == whole || o.Responses[p.request].Of(p.charge).RetryAfter > 0
}
