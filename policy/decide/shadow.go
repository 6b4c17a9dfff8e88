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

	candidate bool
}

// Shadows returns the decisions of all requests' shadows. responses contains the responses to all requests. The result
// is valid until End.
func (b *Batch) Shadows(responses []Response) []Shadow {
	b.shadows = b.shadows[:0]
	for request := range b.plans {
		at := &b.plans[request]
		for i := at.besides.from; i < at.besides.to; i++ {
			s := &b.besides[i]
			if !s.Shadow {
				continue
			}
			result := &b.Results[s.op]
			shadow := Shadow{
				Owner: s.Owner, Of: s.ShadowOf, candidate: s.Candidate, Request: request, Kind: at.request.Kind,
				Denied: result.Err == nil && !result.Allowed, Err: result.Err,
			}
			shadow.compare(&responses[request])
			if n := len(b.shadows); n > 0 {
				shadow.join(&b.shadows[n-1])
			}
			b.shadows = append(b.shadows, shadow)
		}
	}
	return b.shadows
}

// shadowAnswers returns the answers of a request's shadows, and of items' limits that share their counter with a smaller
// one.
func (b *Batch) shadowAnswers(at *plan) []ShadowAnswer {
	answers := make([]ShadowAnswer, 0, at.besides.to-at.besides.from)
	for i := at.besides.from; i < at.besides.to; i++ {
		s := &b.besides[i]
		if s.Candidate {
			continue
		}
		c := &b.Ops[s.op].Charges[0]
		answers = append(answers, ShadowAnswer{Item: s.FirstItem(), Limit: c.Limit, Cost: c.Cost, Answer: b.Results[s.op]})
	}
	return answers
}

// compare sets Compared, Live, InForce and Last. A candidate would replace its owner's limit. Any other shadow would be
// added to the deciding limits. A fallback answer is not compared.
func (s *Shadow) compare(live *Response) {
	s.Last = true
	if s.Err != nil || live.Err != nil || live.Promise.Mode == engine.Fallback {
		return
	}
	s.Compared, s.Live = true, live.Allowed
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

// onlyOwnerDenies reports whether no limit other than the owner's denied the request. A limit that decided alone is the
// owner's, because the shadow would replace it.
func (s *Shadow) onlyOwnerDenies(live *Response) bool {
	for i := range live.Count() {
		if c := live.Charge(i); live.Count() > 1 && c.Policy != s.Owner.Name && live.Of(i).RetryAfter > 0 {
			return false
		}
	}
	return true
}
