package dashboard

import (
	"context"
	"net/http"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/dashboard/topkeys"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/adminapi"
	"github.com/headgate/headgate/internal/operate"
)

// explainTimeout bounds the store calls for an explanation.
const explainTimeout = 2 * time.Second

func (p *Program) topKeys(r *http.Request, _ *adminapi.None) (answer adminapi.TopKeys, err error) {
	n, err := adminapi.Number(r, "n", topShown, topkeys.MaxReport)
	if err != nil {
		return answer, err
	}
	by, err := topkeys.ReadBy(r, nil, topkeys.Words[:topkeys.NewlyDenied]...) // a program has no shadows
	if err != nil {
		return answer, err
	}
	report := p.top.Top(topkeys.Query{Of: by, Policy: r.URL.Query().Get("policy"), Most: n}, time.Now())
	return report.JSON(by), nil
}

func (p *Program) timeline(_ *http.Request, body *adminapi.KeyAndPolicy) (answer adminapi.Timeline, err error) {
	key, err := body.Read()
	if err != nil {
		return answer, err
	}
	names := []string{body.Policy}
	if body.Policy == "" {
		p.mu.Lock()
		names = names[:0]
		for _, one := range p.all {
			names = append(names, one.policy)
		}
		p.mu.Unlock()
	}
	return p.top.TimelineJSON(names, key), nil
}

func (p *Program) explain(r *http.Request, body *adminapi.KeyAndCost) (answer adminapi.Explanations, err error) {
	key, err := body.Read()
	if err != nil {
		return answer, err
	}
	policies := p.shown()
	if body.Policy != "" {
		one, err := p.policy(body.Policy)
		if err != nil {
			return answer, err
		}
		policies = []*headgate.Policy{one}
	}
	ctx, cancel := context.WithTimeout(r.Context(), explainTimeout)
	defer cancel()
	answer.Explanations = []adminapi.Explanation{}
	for _, one := range policies {
		if e, touched := explained(ctx, one, key, body.Cost); touched || body.Policy != "" {
			answer.Explanations = append(answer.Explanations, e)
		}
	}
	return answer, nil
}

// explained returns a key's state under a policy. touched is true if the key has spent units, or if its state is not
// known because of an error. If asked is nil, the cost is 1.
func explained(ctx context.Context, of *headgate.Policy, key string, asked *int64) (e adminapi.Explanation, touched bool) {
	e = adminapi.Explanation{Policy: of.Name(), KeyFields: adminapi.NewKey(key), Cost: 1, Generation: 1, Limits: []adminapi.Standing{}}
	if asked != nil {
		e.Cost = *asked
	}
	d, err := of.Peek(ctx, key, e.Cost)
	standings := d.Limits
	if standings == nil {
		standings = []engine.LimitOutcome{{Unlimited: d.Unlimited, Standing: engine.Standing{Limit: d.Limit, Remaining: d.Remaining, RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter}}}
	}
	for i, l := range operate.Limits(of) {
		one := adminapi.Standing{Policy: of.Name(), Limit: l.String(), From: "file"}
		if err != nil {
			one.Error = err.Error()
		} else {
			s := &standings[min(i, len(standings)-1)]
			one.Set(s, d.At, d.Promise.Mode)
			one.Decides, one.State = d.Binding.Index == i, s.ResetAfter > 0
			touched = touched || one.State
		}
		e.Limits = append(e.Limits, one)
	}
	if err == nil {
		if d.Promise.Mode == engine.Fallback {
			e.Failure = "local"
		}
		e.Allowed, e.Never, e.FreesAt = d.Allowed, d.RetryAfter == headgate.Never, adminapi.FreesAt(d.At, d.RetryAfter)
	}
	return e, touched || err != nil
}
