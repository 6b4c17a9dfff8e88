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
	limit   *decide.LimitAnswer // the charge's limit; nil for the whole request
}

// partsOf returns the parts of a call's requests. A request with several charges has several parts. It returns nil if
// every request has a single key.
func partsOf(o *service.Observed) []part {
	charges := func(r *decide.Response) bool { return len(r.Limits) > 0 && r.Limits[0].Items != nil }
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
			parts = append(parts, part{request: i})
			continue
		}
		for at := range r.Limits {
			l := &r.Limits[at]
			same := func(p part) bool { return p.limit.Policy == l.Policy && p.limit.Key == l.Key }
			if known := slices.IndexFunc(parts[first:], same); known < 0 {
				parts = append(parts, part{i, l})
			} else if l.Decision.RetryAfter > 0 {
				parts[first+known].limit = l
			}
		}
	}
	return parts
}

// subject returns the policy and the key of a part.
func (p part) subject(o *service.Observed) (policy, key string) {
	if p.limit == nil {
		return o.Policy(p.request), o.Key(p.request)
	}
	return cmp.Or(p.limit.Policy, service.InlinePolicy), p.limit.Key
}

// denies reports whether the key is a reason for the denial of its request. The request must have been denied.
func (p part) denies() bool { return p.limit == nil || p.limit.Decision.RetryAfter > 0 }
