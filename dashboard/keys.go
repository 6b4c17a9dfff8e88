package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/dashboard/topkeys"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/jsontext"
)

const (
	// explainTimeout bounds the calls of the store for one explanation.
	explainTimeout = 2 * time.Second
	maxTop         = topkeys.MaxReport
)

func (p *Program) topKeys(r *http.Request) (any, error) {
	n, err := number(r, "n", topShown, maxTop)
	if err != nil {
		return nil, err
	}
	by, events := r.URL.Query().Get("by"), topkeys.Requests
	switch by {
	case "":
		by = "requests"
	case "requests":
	case "refusals":
		events = topkeys.Refusals
	default:
		return nil, badField("by", strconv.Quote(by)+"; accepted: requests, refusals")
	}
	report := p.top.Top(topkeys.Query{Of: events, Policy: r.URL.Query().Get("policy"), Most: n}, time.Now())
	return report.JSON(by), nil
}

// keyBody is the body of a call about a key.
type keyBody struct {
	topkeys.KeyJSON

	Policy string `json:"policy"`
	Cost   *int64 `json:"cost"`
}

// readKey reads the body of a call about a key, and returns its key.
func readKey(r *http.Request) (body keyBody, key string, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return body, "", &problem{http.StatusUnsupportedMediaType, "", "Content-Type is not application/json"}
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return body, "", &problem{http.StatusRequestEntityTooLarge, "", "body is larger than 16 KiB"}
	}
	if err := jsontext.Check(text); err != nil {
		return body, "", &problem{http.StatusBadRequest, "", "body: " + err.Error()}
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return body, "", &problem{http.StatusBadRequest, "", "body: " + err.Error()}
	}
	key, err = body.Read()
	if bad, ok := errors.AsType[*topkeys.FieldError](err); ok {
		return body, "", badField(bad.Field, bad.Detail)
	}
	if body.Cost != nil && *body.Cost < 0 {
		return body, "", badField("cost", "negative; accepted: 0 or more")
	}
	return body, key, nil
}

func (p *Program) timeline(r *http.Request) (any, error) {
	body, key, err := readKey(r)
	if err != nil {
		return nil, err
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
	decisions := []topkeys.EventJSON{}
	for _, name := range names {
		for _, e := range p.top.Timeline(name, key) {
			decisions = append(decisions, e.JSON(name))
		}
	}
	slices.SortStableFunc(decisions, func(a, b topkeys.EventJSON) int { return b.At.Compare(a.At) })
	return object{"decisions": decisions}, nil
}

func (p *Program) explain(r *http.Request) (any, error) {
	body, key, err := readKey(r)
	if err != nil {
		return nil, err
	}
	policies := p.shown()
	if body.Policy != "" {
		one, err := p.policy(body.Policy)
		if err != nil {
			return nil, err
		}
		policies = []*headgate.Policy{one}
	}
	ctx, cancel := context.WithTimeout(r.Context(), explainTimeout)
	defer cancel()
	all := []object{}
	for _, one := range policies {
		if e, touched := explained(ctx, one, key, body.Cost); touched || body.Policy != "" {
			all = append(all, e)
		}
	}
	return object{"explanations": all}, nil
}

// explained says how a key stands under a policy, and whether it has spent anything.
func explained(ctx context.Context, of *headgate.Policy, key string, asked *int64) (e object, touched bool) {
	cost := int64(1)
	if asked != nil {
		cost = *asked
	}
	d, err := of.Peek(ctx, key, cost)
	limits, standings := of.Limits(), d.Limits
	if standings == nil {
		standings = []engine.LimitOutcome{{Unlimited: d.Unlimited, Standing: engine.Standing{Limit: d.Limit, Remaining: d.Remaining, RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter}}}
	}
	all := []object{}
	for i, l := range limits {
		one := object{"policy": of.Name(), "limit": l.String(), "from": "file", "shadow": false, "decides": false, "allowed": false, "reset_after_ms": 0, "state": false}
		all = append(all, one)
		if err != nil {
			one["error"] = err.Error()
			continue
		}
		s := &standings[min(i, len(standings)-1)]
		touched = touched || s.ResetAfter > 0
		one["allowed"], one["decides"], one["state"] = s.RetryAfter == 0, d.Binding.Index == i, s.ResetAfter > 0
		one["reset_after_ms"], one["mode"] = milliseconds(s.ResetAfter), d.Promise.Mode.String()
		if !s.Unlimited {
			one["capacity"], one["remaining"] = s.Limit, s.Remaining
		}
	}
	e = object{"policy": of.Name(), "key": key, "cost": cost, "allowed": err == nil && d.Allowed, "generation": 1, "limits": all}
	switch {
	case err != nil || d.Allowed:
	case d.RetryAfter == headgate.Never:
		e["never"] = true
	default:
		e["frees_at"] = d.At.Add(d.RetryAfter).UTC()
	}
	return e, touched || err != nil
}

func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
