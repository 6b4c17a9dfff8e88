package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	core "github.com/headgate/headgate/dashboard/topkeys"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/service"
	"github.com/headgate/headgate/server/topkeys"
)

// The bounds of lists.
const (
	defaultTop     = 20
	maxLimited     = 100
	defaultLimited = 20
)

// topEvents are the words for what is counted of a key.
var topEvents = [...]string{
	topkeys.Requests: "requests", topkeys.Refusals: "refusals",
	topkeys.NewlyDenied: "newly-denied", topkeys.NewlyAllowed: "newly-allowed",
}

func (a *api) top(_ http.ResponseWriter, r *http.Request) (any, error) {
	by, err := word(r, "by", topEvents[:]...)
	if err != nil {
		return nil, err
	}
	window, err := word(r, "window", "1m", "1h")
	if err != nil {
		return nil, err
	}
	n, err := number(r, "n", defaultTop, topkeys.MaxReport)
	if err != nil {
		return nil, err
	}
	report, err := a.counts(topkeys.Query{Of: topkeys.Events(slices.Index(topEvents[:], by)), Hour: window == "1h", Policy: r.URL.Query().Get("policy"), Most: n})
	if err != nil {
		return nil, err
	}
	return report.JSON(by), nil
}

// counts returns the keys with the highest counts. A policy that is not in force is an error,
// unless something was counted of it before it left.
func (a *api) counts(q topkeys.Query) (topkeys.Report, error) {
	now := time.Now()
	report := a.Top.Top(q, now)
	if q.Policy == "" || q.Policy == service.InlinePolicy || len(report.Top) > 0 {
		return report, nil
	}
	_, current, _ := a.Policies.InForce()
	if _, ok := current.Policies.Get(q.Policy); ok {
		return report, nil
	}
	if before := a.Top.Top(topkeys.Query{Of: topkeys.Requests, Hour: true, Policy: q.Policy, Most: 1}, now); len(before.Top) > 0 {
		return report, nil
	}
	return report, noPolicy(q.Policy)
}

// limitedKey is a key that was refused in the last minute, with its standing.
type limitedKey struct {
	Refusals core.CountJSON `json:"refusals"`
	// Explanation is absent where the key is not known in full, or is of no policy.
	Explanation *explanation `json:"explanation,omitempty"`
}

func (a *api) limited(_ http.ResponseWriter, r *http.Request) (any, error) {
	n, err := number(r, "n", defaultLimited, maxLimited)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), explainTimeout)
	defer cancel()
	report, err := a.counts(topkeys.Query{Of: topkeys.Refusals, Policy: r.URL.Query().Get("policy"), Most: n})
	if err != nil {
		return nil, err
	}
	f := a.inForce()
	answer := struct {
		Span    float64      `json:"span_seconds"`
		Sampled bool         `json:"sampled"`
		Keys    []limitedKey `json:"keys"`
	}{report.Span.Seconds(), report.Sampled, []limitedKey{}}
	for i := range report.Top {
		c := &report.Top[i]
		one := limitedKey{Refusals: c.JSON(report.Span)}
		if p, ok := f.current.Policies.Get(c.Policy); ok && !c.Cut {
			key := a.counted(c.Key)
			e := a.explainKey(ctx, &f, p, &key, 0, nil)
			one.Explanation = &e
		}
		answer.Keys = append(answer.Keys, one)
	}
	return answer, nil
}

// unitsFields are a key and units of it in a request.
type unitsFields struct {
	keyFields

	Policy string `json:"policy"`
	Units  *int64 `json:"units"`
	Author string `json:"author"`
	Reason string `json:"reason"`
}

func (a *api) give(w http.ResponseWriter, r *http.Request) (any, error) {
	answer, err := a.write(w, r, engine.OpGive)
	if err != nil {
		return nil, err
	}
	return struct {
		Remaining int64 `json:"remaining"`
		Unlimited bool  `json:"unlimited"`
	}{answer.Decision.Remaining, answer.Decision.Unlimited}, nil
}

func (a *api) reset(w http.ResponseWriter, r *http.Request) (any, error) {
	answer, err := a.write(w, r, engine.OpReset)
	if err != nil {
		return nil, err
	}
	return struct {
		Found bool `json:"found"`
	}{answer.Found}, nil
}

// write gives or resets a key, and logs the author and the reason.
func (a *api) write(w http.ResponseWriter, r *http.Request, kind engine.Kind) (answer decide.Response, err error) {
	var body unitsFields
	if err := decode(w, r, &body); err != nil {
		return answer, err
	}
	key, err := body.Read()
	switch {
	case err != nil:
		return answer, err
	case body.Policy == "":
		return answer, badField("policy", "not set; accepted: the name of a policy")
	case body.Author == "" || len(body.Author) > 256:
		return answer, badField("author", "accepted: 1 to 256 bytes")
	case len(body.Reason) > 1024:
		return answer, badField("reason", "accepted: up to 1024 bytes")
	case body.Units != nil && (kind == engine.OpReset || *body.Units < 0):
		return answer, badField("units", "accepted: 0 or more, for give only")
	}
	of := a.counted(key)
	requests := []decide.Request{{Kind: kind, Policy: body.Policy, Key: key}}
	if body.Units != nil {
		requests[0].Cost, requests[0].HasCost = *body.Units, true
	}
	shown := a.ShowKey(key)
	if of.hashed {
		requests[0].Counted, shown = of.counted[0], of.counted[0]
	}
	for secret := 1; secret < len(of.counted) && kind == engine.OpReset; secret++ {
		requests = append(requests, requests[0])
		requests[secret].Counted = of.counted[secret]
	}
	ctx, cancel := context.WithTimeout(r.Context(), explainTimeout)
	defer cancel()
	answers := make([]decide.Response, len(requests))
	a.Service.Do(ctx, service.Admin, requests, answers)
	answer = answers[0]
	for i := range answers {
		if answers[i].Err != nil {
			return answer, answers[i].Err
		}
		answer.Found = answer.Found || answers[i].Found
	}
	attributes := []any{"action", kind.String(), "policy", body.Policy, "key", shown, "author", body.Author, "reason", body.Reason}
	if body.Units != nil {
		attributes = append(attributes, "units", *body.Units)
	}
	a.Logger.Info("audit", attributes...)
	done := action{Action: kind.String(), Policy: body.Policy, keyFields: newKey(key), Author: body.Author, Reason: body.Reason, Units: body.Units}
	if of.hashed {
		done.keyFields = newKey(of.counted[0])
	}
	a.history.add(done)
	return answer, nil
}
