package httpapi

import (
	"net/http"
	"time"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/verbs"
)

// verb is a verb with the names of its fields and the form of its answer.
type verb struct {
	*verbs.Verb
	answer

	names []string
}

// answer describes the JSON form of an answer.
type answer struct {
	// value returns the JSON value of the answer to one request, and the status for a request that is not in a batch.
	value func(*decide.Response) (value any, status int)
	// decision is true if the answer is only a decision.
	decision bool
	// headers is true if the answer contains rate-limit headers.
	headers bool
}

var answers = [...]answer{
	verbs.Decision: {value: answerDecision, decision: true, headers: true},
	verbs.Given:    {value: answerDecision, decision: true, headers: true},
	verbs.Reset:    {value: answerFound("reset")},
	verbs.Reserved: {value: answerReserve, headers: true},
	verbs.Settled:  {value: answerSettled},
	verbs.Reported: {value: answerReported},
	verbs.Acquired: {value: answerAcquire},
	verbs.Renewed:  {value: answerRenew},
	verbs.Released: {value: answerFound("released")},
}

func statusOf(allowed bool, denied int) int {
	if allowed {
		return http.StatusOK
	}
	return denied
}

func answerDecision(r *decide.Response) (any, int) {
	return decisionOf(r), statusOf(r.Allowed, http.StatusTooManyRequests)
}

// answerFound answers with one boolean, which states whether there was anything to do.
func answerFound(name string) func(*decide.Response) (any, int) {
	return func(r *decide.Response) (any, int) { return map[string]bool{name: r.Found}, http.StatusOK }
}

// reserved is a decision with the text for settling the reservation. The text is omitted if the request is denied.
type reserved struct {
	decision

	Reservation  string `json:"reservation,omitempty"`
	SettleWithin int64  `json:"settle_within_ms,omitempty"`
}

func answerReserve(r *decide.Response) (any, int) {
	_, status := answerDecision(r)
	return reserved{decisionOf(r), r.Reservation, r.SettleWithin.Milliseconds()}, status
}

// reported states whether the reservation is still open, and how many used units could not be charged.
type reported struct {
	Open    bool  `json:"open"`
	Dropped int64 `json:"dropped,omitempty"`
}

func answerReported(r *decide.Response) (any, int) {
	return reported{r.Found, r.Dropped}, statusOf(r.Found, http.StatusGone)
}

// settled states whether this call settled the reservation, and how many used units could not be charged.
type settled struct {
	Settled bool  `json:"settled"`
	Dropped int64 `json:"dropped,omitempty"`
}

func answerSettled(r *decide.Response) (any, int) {
	return settled{r.Found, r.Dropped}, http.StatusOK
}

// acquired is a decision with the permit's holder id and lease time. Both are omitted if the request is denied.
type acquired struct {
	decision

	ID    string `json:"id,omitempty"`
	Lease int64  `json:"lease_ms,omitempty"`
}

func answerAcquire(r *decide.Response) (any, int) {
	_, status := answerDecision(r)
	return acquired{decisionOf(r), r.ID, int64(r.Lease / time.Millisecond)}, status
}

// renewed states whether the permit is still held, and for how much longer.
type renewed struct {
	Held  bool  `json:"held"`
	Lease int64 `json:"lease_ms,omitempty"`
}

func answerRenew(r *decide.Response) (any, int) {
	held := r.Allowed
	return renewed{held, int64(r.Lease / time.Millisecond)}, statusOf(held, http.StatusGone)
}
