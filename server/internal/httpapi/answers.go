package httpapi

import (
	"net/http"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/verbs"
)

// answer describes the JSON form of an answer.
type answer struct {
	// value returns the JSON value of the answer to one request, and the status for a request that is not in a batch.
	value func(*decide.Response) (value any, status int)
	// decision is true if the answer is only a decision.
	decision bool
	// headers is true if the answer has rate-limit headers.
	headers bool
}

var answers = [...]answer{
	verbs.Decision: {value: answerDecision, decision: true, headers: true},
	verbs.Given:    {value: answerDecision, decision: true, headers: true},
	verbs.Reset: {value: func(r *decide.Response) (any, int) {
		return map[string]bool{"reset": r.Found}, http.StatusOK
	}},
	verbs.Reserved: {headers: true, value: func(r *decide.Response) (any, int) {
		d, status := answerDecision(r)
		return struct {
			decision

			Reservation  string `json:"reservation,omitempty"` // omitted if denied
			SettleWithin int64  `json:"settle_within_ms,omitempty"`
		}{d.(decision), r.Reservation, r.SettleWithin.Milliseconds()}, status
	}},
	verbs.Settled: {value: func(r *decide.Response) (any, int) {
		return struct {
			Settled bool  `json:"settled"`
			Dropped int64 `json:"dropped,omitempty"` // used units that could not be charged
		}{r.Found, r.Dropped}, http.StatusOK
	}},
	verbs.Reported: {value: func(r *decide.Response) (any, int) {
		return struct {
			Open    bool  `json:"open"`
			Dropped int64 `json:"dropped,omitempty"` // used units that could not be charged
		}{r.Found, r.Dropped}, statusOf(r.Found, http.StatusGone)
	}},
	verbs.Acquired: {value: func(r *decide.Response) (any, int) {
		d, status := answerDecision(r)
		return struct {
			decision

			ID    string `json:"id,omitempty"` // omitted if denied, like the lease
			Lease int64  `json:"lease_ms,omitempty"`
		}{d.(decision), r.ID, r.Lease.Milliseconds()}, status
	}},
	verbs.Renewed: {value: func(r *decide.Response) (any, int) {
		return struct {
			Held  bool  `json:"held"`
			Lease int64 `json:"lease_ms,omitempty"`
		}{r.Allowed, r.Lease.Milliseconds()}, statusOf(r.Allowed, http.StatusGone)
	}},
	verbs.Released: {value: func(r *decide.Response) (any, int) {
		return map[string]bool{"released": r.Found}, http.StatusOK
	}},
}

func answerDecision(r *decide.Response) (any, int) {
	return decisionOf(r), statusOf(r.Allowed, http.StatusTooManyRequests)
}

func statusOf(allowed bool, denied int) int {
	if allowed {
		return http.StatusOK
	}
	return denied
}
