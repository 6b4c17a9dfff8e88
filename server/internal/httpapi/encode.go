package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/internal/errcode"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// decision is the JSON form of a decision. Durations are whole milliseconds, rounded up.
type decision struct {
	Allowed   bool   `json:"allowed"`
	Code      string `json:"code,omitempty"` // "full" for a denial for lack of room
	Policy    string `json:"policy,omitempty"`
	Paid      string `json:"paid,omitempty"`      // the charged limit of a policy with "first"
	Charges   []int  `json:"charges,omitempty"`   // indexes of the binding limit's charges
	Limit     *int64 `json:"limit,omitempty"`     // omitted if no limit applies
	Remaining *int64 `json:"remaining,omitempty"` // omitted if no limit applies
	// RetryAfter is omitted if the request is allowed, and null if it can never pass.
	RetryAfter any    `json:"retry_after_ms,omitempty"`
	ResetAfter int64  `json:"reset_after_ms"`
	Delay      int64  `json:"delay_ms"`
	Mode       string `json:"mode"`
	// OvershootMax is null if the overshoot is unbounded.
	OvershootMax any               `json:"overshoot_max"`
	InForce      *adminapi.InForce `json:"in_force,omitempty"` // for a binding limit with an adaptive rate
	Limits       []limitDecision   `json:"limits,omitempty"`
}

// limitDecision is the JSON form of the state of one limit, for a request with several limits.
type limitDecision struct {
	Policy     string `json:"policy,omitempty"`
	Charges    []int  `json:"charges,omitempty"`
	Name       string `json:"name"`
	Limit      *int64 `json:"limit,omitempty"`
	Remaining  *int64 `json:"remaining,omitempty"`
	RetryAfter any    `json:"retry_after_ms,omitempty"`
	ResetAfter int64  `json:"reset_after_ms"`
}

var null = json.RawMessage("null")

// decisionOf returns the JSON form of a decision.
func decisionOf(r *decide.Response) decision {
	s := r.Binds()
	a := decision{
		Allowed: r.Allowed, Policy: r.Policy, Paid: r.Paid, Charges: chargesOf(r),
		RetryAfter: retryMillis(r.Allowed, s.RetryAfter), ResetAfter: format.Millis(s.ResetAfter), Delay: format.Millis(r.Delay),
		Mode: r.Promise.Mode.String(), OvershootMax: r.Promise.OvershootMax,
	}
	if r.Promise.OvershootMax == engine.Unbounded {
		a.OvershootMax = null
	}
	if r.Full {
		a.Code = errcode.Full
	}
	if !s.Unlimited {
		a.Limit, a.Remaining = &s.Limit, &s.Remaining
	}
	if adapts(r) {
		a.InForce = adminapi.InForceOf(s, r.Limit())
	}
	if r.Count() > 1 {
		for i := range r.Count() {
			a.Limits = append(a.Limits, limitDecisionOf(r, i))
		}
	}
	return a
}

// adapts reports whether the binding limit has an adaptive rate. A share does not know the rate in force.
func adapts(r *decide.Response) bool {
	return r.Limit().Algorithm().Adapts() && r.Promise.Mode != engine.Fallback
}

func limitDecisionOf(r *decide.Response, i int) limitDecision {
	c, s := r.Charge(i), r.Of(i)
	a := limitDecision{
		Policy: c.Policy, Name: c.Limit.Name(), RetryAfter: retryMillis(s.RetryAfter == 0, s.RetryAfter), ResetAfter: format.Millis(s.ResetAfter),
	}
	if r.Listed {
		a.Charges = slices.Collect(c.Covered())
	}
	if !s.Unlimited {
		a.Limit, a.Remaining = &s.Limit, &s.Remaining
	}
	return a
}

// retryMillis returns the value of retry_after_ms: nil, which omits the field, for an allowed request, and JSON's null
// for a request that can never pass.
func retryMillis(allowed bool, after time.Duration) any {
	switch {
	case allowed:
		return nil
	case after == engine.Never:
		return null
	default:
		return format.Millis(after)
	}
}

func writeSingle(w http.ResponseWriter, v *verb, q *decide.Request, r *decide.Response) {
	status := statusOf(r.Allowed, http.StatusTooManyRequests)
	var value any
	text, plain := []byte(nil), false
	if v.decision {
		text, plain = appendDecision(make([]byte, 0, 256), r)
	}
	if !plain {
		value, status = v.value(r)
	}
	switch {
	case v.headers:
		r.WriteHeaders(w.Header())
	case status == http.StatusTooManyRequests:
		r.WriteRetryAfter(w.Header())
	}
	if plain {
		problem.WriteText(w, status, text)
		return
	}
	problem.WriteJSON(w, status, value)
}

// failed is the JSON form of the answer to a batch's request that was invalid or could not be decided.
type failed struct {
	Error wire.Problem `json:"error"`
}

func writeBatch(w http.ResponseWriter, v *verb, c decodedBody, responses []decide.Response) {
	answers := make([]any, len(c.errs))
	for i, err := range c.errs {
		var r *decide.Response
		if err == nil {
			r, responses = &responses[0], responses[1:]
			err = r.Err
		}
		if err != nil {
			answers[i] = failed{problemOf(err)}
			continue
		}
		answers[i], _ = v.value(r)
	}
	problem.WriteJSON(w, http.StatusOK, map[string][]any{"decisions": answers})
}

// policyInfo is one entry of /v1/policies.
type policyInfo struct {
	Name    string         `json:"name"`
	Limits  []string       `json:"limits"`
	Cost    int64          `json:"cost"`
	Failure string         `json:"failure"`
	Mode    string         `json:"mode"`
	Headers policy.Headers `json:"headers"`
	Shadow  bool           `json:"shadow"`
	Enabled bool           `json:"enabled"`
}

// policies lists the policies that the user may use. If there are no users, it lists all policies, but only to a caller
// that names this server: a page whose name was rebound to it sends neither an Origin nor a secret (bug 101).
func (a *api) policies(w http.ResponseWriter, r *http.Request) {
	set := a.service.Policies()
	user, guarded := users.From(r.Context())
	if !guarded && !problem.KnownHost(r, a.hosts) {
		a.refused(service.NoRight)
		wire.NewProblem(http.StatusForbidden, "", problem.UnknownHost).Write(w)
		return
	}
	infos := make([]policyInfo, 0, len(set.Names()))
	for _, name := range set.Names() {
		if guarded && !user.MayUse(name) {
			continue
		}
		p, _ := set.Get(name)
		info := policyInfo{
			Name: name, Limits: p.Limits(), Cost: p.Cost, Failure: p.Failure.String(), Mode: p.Mode(),
			Headers: p.Headers, Shadow: p.Shadow, Enabled: p.Enabled,
		}
		infos = append(infos, info)
	}
	problem.WriteJSON(w, http.StatusOK, map[string][]policyInfo{"policies": infos})
}

// chargesOf returns the indexes of the binding limit's charges. It returns nil for a request without charges.
func chargesOf(r *decide.Response) []int {
	if c := r.Bound(); c != nil && r.Listed {
		return slices.Collect(c.Covered())
	}
	return nil
}
