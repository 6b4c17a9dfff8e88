package decide

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// Shadow is the decision of a shadow limit.
type Shadow struct {
	// Owner is the policy that owns the limit. Of is the policy with the shadow setting.
	Owner, Of *policy.Policy
	// Request is the request's index in the batch, and Kind is its verb.
	Request int
	Kind    engine.Kind
	// Denied is true if the limit would have denied the request. If that is not known, Err is set.
	Denied bool
	Err    error
	// Compared is true if both answers are known. Live reports whether the request was allowed. InForce reports
	// whether it would have been allowed with the shadow in force. For a shadow with several limits, the entry of the
	// last limit contains the combined result. Last is true for that entry and false for the other entries.
	Compared, Live, InForce, Last bool

	op, item  int
	candidate bool
}

// Shadows returns the decisions of all requests' shadows. responses contains the responses to all requests. The result
// is valid until End.
func (b *Batch) Shadows(responses []Response) []Shadow {
	request := 0
	for i := range b.shadows {
		shadow := &b.shadows[i]
		for p := &b.plans[request]; shadow.op >= p.shadows+p.shadowCount; p = &b.plans[request] {
			request++
		}
		shadow.Request, shadow.Kind = request, b.plans[request].request.Kind
		result := &b.Results[shadow.op]
		shadow.Denied, shadow.Err = result.Err == nil && !result.Decision.Allowed, result.Err
		shadow.compare(&responses[request])
		if i > 0 {
			shadow.join(&b.shadows[i-1])
		}
	}
	return b.shadows
}

// compare sets Compared, Live, InForce and Last. A candidate would replace its owner's limit. Any other shadow would be
// added to the deciding limits. A fallback answer is not compared.
func (s *Shadow) compare(live *Response) {
	s.Last = true
	if s.Err != nil || live.Err != nil || live.Decision.Promise.Mode == engine.Fallback {
		return
	}
	s.Compared, s.Live = true, live.Decision.Allowed
	s.InForce = !s.Denied && (s.Live || s.candidate && s.onlyOwnerDenies(live))
}

// join merges the previous entry into s if both entries belong to the same request and to the same policy's shadow.
// Only s then has Last set.
func (s *Shadow) join(before *Shadow) {
	if before.Request == s.Request && before.Of == s.Of {
		s.Compared, s.InForce = s.Compared && before.Compared, s.InForce && before.InForce
		before.Last = false
	}
}

// onlyOwnerDenies reports whether no limit other than the owner's denied the request. If only one limit decided,
// live.Limits is nil. That limit is the owner's, because the shadow would replace it, so the result is true.
func (s *Shadow) onlyOwnerDenies(live *Response) bool {
	for i := range live.Limits {
		if l := &live.Limits[i]; l.Policy != s.Owner.Name && l.Decision.RetryAfter > 0 {
			return false
		}
	}
	return true
}
