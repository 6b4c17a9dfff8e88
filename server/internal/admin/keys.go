package admin

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/topkeys"
)

// The default and maximum lengths of lists.
const (
	defaultTop     = 20
	maxLimited     = 100
	defaultLimited = 20
)

func (a *api) top(r *http.Request, _ *adminapi.None) (answer adminapi.TopKeys, err error) {
	by, err := topkeys.ReadBy(r, topkeys.Words[:]...)
	if err != nil {
		return answer, err
	}
	window, err := adminapi.Word(r, "window", "1m", "1h")
	if err != nil {
		return answer, err
	}
	n, err := adminapi.Number(r, "n", defaultTop, topkeys.MaxReport)
	if err != nil {
		return answer, err
	}
	report, err := a.counts(topkeys.Query{Of: by, Hour: window == "1h", Policy: r.URL.Query().Get("policy"), Most: n})
	if err != nil {
		return answer, err
	}
	answer = report.JSON(by)
	answer.Server = a.Server()
	return answer, nil
}

// counts returns the keys with the highest counts. An inactive policy causes an error, unless there are counts from
// before its removal.
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
	return report, adminapi.NoPolicy(q.Policy)
}

func (a *api) limited(r *http.Request, _ *adminapi.None) (answer adminapi.LimitedKeys, err error) {
	n, err := adminapi.Number(r, "n", defaultLimited, maxLimited)
	if err != nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), explainTimeout)
	defer cancel()
	report, err := a.counts(topkeys.Query{Of: topkeys.Denials, Policy: r.URL.Query().Get("policy"), Most: n})
	if err != nil {
		return answer, err
	}
	f := a.inForce()
	answer = adminapi.LimitedKeys{Span: report.Span.Seconds(), Sampled: report.Sampled, Keys: []adminapi.LimitedKey{}, Server: a.Server()}
	for i := range report.Top {
		c := &report.Top[i]
		one := adminapi.LimitedKey{Denials: c.JSON(report.Span)}
		if p, ok := f.current.Policies.Get(c.Policy); ok {
			key := a.counted(c.Key)
			e, _ := a.explainKey(ctx, &f, p, &key, 0, nil, "")
			one.Explanation = &e
		}
		answer.Keys = append(answer.Keys, one)
	}
	return answer, nil
}

func (a *api) give(r *http.Request, body *adminapi.Units) (adminapi.Given, error) {
	answer, err := a.write(r, body, engine.OpGive)
	return adminapi.Given{Remaining: answer.Binds().Remaining, Unlimited: answer.Binds().Unlimited}, err
}

func (a *api) reset(r *http.Request, body *adminapi.Units) (adminapi.Reset, error) {
	answer, err := a.write(r, body, engine.OpReset)
	return adminapi.Reset{Found: answer.Found, AllKeys: answer.Requested != nil && answer.Requested.Divides()}, err
}

// signed checks the author and the reason of an action.
func signed(author, reason string) error {
	switch {
	case author == "" || len(author) > 256:
		return adminapi.BadField("author", "accepted: 1 to 256 bytes")
	case len(reason) > 1024:
		return adminapi.BadField("reason", "accepted: up to 1024 bytes")
	default:
		return nil
	}
}

// write gives units back or resets a key, and logs the author, the user and the reason.
func (a *api) write(r *http.Request, body *adminapi.Units, kind engine.Kind) (answer decide.Response, err error) {
	key, err := body.Read()
	switch {
	case err != nil:
		return answer, err
	case body.Policy == "":
		return answer, adminapi.BadField("policy", "not set; accepted: the name of a policy")
	case signed(body.Author, body.Reason) != nil:
		return answer, signed(body.Author, body.Reason)
	case body.Units != nil && (kind == engine.OpReset || *body.Units < 0):
		return answer, adminapi.BadField("units", "accepted: 0 or more, for give only")
	}
	of := a.counted(key)
	requests := []decide.Request{{Kind: kind, Item: decide.Item{Policy: body.Policy, Key: key}}}
	if name, _, one := strings.Cut(body.Policy, "/"); one && kind == engine.OpReset {
		requests[0].Policy, requests[0].Target = name, body.Policy
	}
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
	attributes := []any{"action", kind.String(), "policy", body.Policy, "key", shown, "author", body.Author}
	if user := caller(r); user != "" {
		attributes = append(attributes, "user", user)
	}
	attributes = append(attributes, "reason", body.Reason)
	if body.Units != nil {
		attributes = append(attributes, "units", *body.Units)
	}
	a.Logger.Info("audit", attributes...)
	done := adminapi.Action{Action: kind.String(), Policy: body.Policy, KeyFields: adminapi.NewKey(key), Author: body.Author, User: caller(r), Reason: body.Reason, Units: body.Units}
	if of.hashed {
		done.KeyFields = adminapi.NewKey(of.counted[0])
	}
	a.history.add(done)
	return answer, nil
}
