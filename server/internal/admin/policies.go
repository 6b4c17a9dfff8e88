package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/errcode"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/policies"
)

// maxOverrides is the maximum number of overrides in an answer.
const maxOverrides = 1000

// changeName identifies the target of a change.
type changeName struct{ policy, key string }

// inForce holds the active policies and changes, read at the same instant.
type inForce struct {
	file, current *policy.Config
	changes       map[changeName]*policies.Change
}

func (a *api) inForce() inForce {
	file, current, changes := a.Policies.InForce()
	f := inForce{file: file, current: current, changes: make(map[changeName]*policies.Change, len(changes))}
	for i := range changes {
		f.changes[changeName{changes[i].Policy, changes[i].Key}] = &changes[i]
	}
	return f
}

// active returns the active change to a target. It returns nil if none exists.
func (f *inForce) active(policy, key string) *adminapi.ActiveChange {
	c := f.changes[changeName{policy, key}]
	if c == nil || c.Ignored != nil {
		return nil
	}
	described := f.describe(c)
	return &described
}

func (f *inForce) describe(c *policies.Change) adminapi.ActiveChange {
	d := adminapi.ActiveChange{Change: c.Change, Before: policies.Describe(f.file, c.Policy, c.Key), After: policies.Describe(f.current, c.Policy, c.Key)}
	if c.Ignored != nil {
		d.Ignored = c.Ignored.Error()
	}
	return d
}

// view returns one policy, with at most the given number of overrides. It returns false if there is no policy with this
// name.
func (f *inForce) view(name string, overrides int) (v adminapi.PolicyView, ok bool) {
	p, ok := f.current.Policies.Get(name)
	if !ok {
		return v, false
	}
	summary := p.Summary()
	v = adminapi.PolicyView{Name: name, InForce: summary, ShadowLimits: shadowLimits(p), Change: f.active(name, ""), OverrideCount: len(summary.Overrides)}
	ofFile := map[changeName]string{}
	if inFile, ok := f.file.Policies.Get(name); ok {
		file := inFile.Summary()
		for _, o := range file.Overrides {
			ofFile[changeName{o.Of, o.Key}] = o.Limit
		}
		file.Overrides = nil
		v.File = &file
	}
	for _, o := range summary.Overrides[:min(len(summary.Overrides), overrides)] {
		target := name
		if o.Of != "" {
			target += "/" + o.Of
		}
		v.Overrides = append(v.Overrides, adminapi.Override{Of: o.Of, Key: o.Key, Limit: o.Limit, File: ofFile[changeName{o.Of, o.Key}], Change: f.active(target, o.Key)})
	}
	v.InForce.Overrides = nil
	return v, true
}

// shadowLimits returns the indexes of the limits that never deny, because they are from shadow policies that p
// includes. It returns nil if p itself is a shadow or disabled.
func shadowLimits(p *policy.Policy) (places []int) {
	if p.Shadow || !p.Enabled {
		return nil
	}
	place := 0
	for _, c := range p.Charges(nil, "", p.Cost) {
		if c.Candidate {
			continue
		}
		if c.Shadow {
			places = append(places, place)
		}
		place++
	}
	return places
}

// listPolicies returns all policies, or a page of the policies whose name contains a string.
func (a *api) listPolicies(r *http.Request, _ *adminapi.None) (answer adminapi.Policies, err error) {
	from, n, part, err := adminapi.Page(r)
	if err != nil {
		return answer, err
	}
	f := a.inForce()
	answer = adminapi.Policies{Generation: a.Service.Generation(), Policies: []adminapi.PolicyView{}}
	for _, name := range f.current.Policies.Names() {
		if !strings.Contains(strings.ToLower(name), part) {
			continue
		}
		if answer.Total++; answer.Total >= from && answer.Total-from < n {
			v, _ := f.view(name, 0)
			answer.Policies = append(answer.Policies, v)
		}
	}
	return answer, nil
}

func (a *api) showPolicy(r *http.Request, _ *adminapi.None) (adminapi.PolicyView, error) {
	f, name := a.inForce(), r.PathValue("name")
	v, ok := f.view(name, maxOverrides)
	if !ok {
		return v, adminapi.NoPolicy(name)
	}
	return v, nil
}

func (a *api) listChanges(*http.Request, *adminapi.None) (adminapi.Changes, error) {
	f, answer := a.inForce(), adminapi.Changes{Changes: []adminapi.ActiveChange{}}
	for _, c := range f.changes {
		answer.Changes = append(answer.Changes, f.describe(c))
	}
	slices.SortFunc(answer.Changes, func(x, y adminapi.ActiveChange) int {
		return cmp.Or(cmp.Compare(x.Policy, y.Policy), cmp.Compare(x.Key, y.Key))
	})
	return answer, nil
}

// newChange returns the change in a body, or an error for a missing or invalid field. If keys are hashed, the change is
// for the hash of the key.
func (a *api) newChange(c *adminapi.NewChange) (change policies.Change, err error) {
	key, err := changedKey(c.Key)
	switch {
	case err != nil:
		return change, err
	case c.Policy == "":
		return change, adminapi.BadField("policy", "not set; accepted: the name of a policy")
	case c.Fields == nil:
		return change, adminapi.BadField("fields", `not set; accepted: the fields of a policy, such as {"rate":"50/s"}`)
	}
	change.Change = adminapi.Change{Policy: c.Policy, Key: a.overrideKey(key), Fields: c.Fields, Author: c.Author, Reason: c.Reason, Expires: c.Expires}
	if c.For == "" {
		return change, nil
	}
	change.For, err = engine.ParseSpan(c.For)
	if err != nil || change.For <= 0 || !c.Expires.IsZero() {
		return change, adminapi.BadField("for", strconv.Quote(c.For)+"; accepted: a duration such as 30m, 1h30m, 2d or 1w, without expires")
	}
	return change, nil
}

// changedKey returns the key that a change is for. It returns "" for a change to the policy itself. An explicit empty
// key causes an error, because the caller meant some key, and not the policy itself.
func changedKey(key *string) (string, error) {
	switch {
	case key == nil:
		return "", nil
	case *key == "":
		return "", adminapi.BadField("key", "empty; accepted: a key or a pattern, or no key for the policy itself")
	default:
		return *key, nil
	}
}

func (a *api) change(r *http.Request, body *adminapi.NewChange) (adminapi.ActiveChange, error) {
	c, err := a.newChange(body)
	if err != nil {
		return adminapi.ActiveChange{}, err
	}
	c.User = caller(r)
	made, err := a.Policies.Change(r.Context(), c)
	if err == nil {
		a.history.add(adminapi.Action{
			Action: "change", Policy: made.Policy, KeyFields: adminapi.NewOverrideKey(made.Key), Author: made.Author, User: made.User, Reason: made.Reason,
			Fields: made.Fields, Expires: made.Expires, Before: made.Before, After: made.After,
		})
	}
	return adminapi.ActiveChange{Change: made.Change, Before: made.Before, After: made.After}, fits(err)
}

// fits adds the status 422 to the error for a change that does not fit the policies. Other errors, such as errors from
// the state file, keep their own status. The error for an unavailable store also says how to limit a key without the
// store.
func fits(err error) error {
	if errors.Is(err, engine.ErrStoreUnavailable) {
		return fmt.Errorf("%w; servers share changes through the store: until it answers, edit the policies file of each server, and run headgate reload", err)
	}
	var file *fs.PathError
	if err == nil || problemOf(err).Status != http.StatusServiceUnavailable ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &file) {
		return err
	}
	return &adminapi.Error{Status: http.StatusUnprocessableEntity, Field: "fields", Detail: err.Error()}
}

func (a *api) try(r *http.Request, body *adminapi.NewChange) (answer adminapi.Trial, err error) {
	c, err := a.newChange(body)
	if err != nil {
		return answer, err
	}
	before, after, err := a.Policies.Try(r.Context(), c)
	if err != nil {
		return answer, fits(err)
	}
	answer.Policies = []adminapi.Difference{}
	for _, name := range after.Policies.Names() {
		d := adminapi.Difference{Name: name}
		if p, ok := before.Policies.Get(name); ok {
			s := p.Summary()
			d.Before = &s
		}
		p, _ := after.Policies.Get(name)
		d.After = p.Summary()
		if differs(&d, c.Key) {
			answer.Policies = append(answer.Policies, d)
		}
	}
	return answer, nil
}

// differs reports whether a policy would change. It keeps only the key's override in the summaries.
func differs(d *adminapi.Difference, key string) bool {
	for _, s := range []*policy.Summary{d.Before, &d.After} {
		if s == nil {
			continue
		}
		all := s.Overrides
		s.Overrides = nil
		for _, o := range all {
			if o.Key == key {
				s.Overrides = append(s.Overrides, o)
			}
		}
	}
	before, err := json.Marshal(d.Before)
	after, err2 := json.Marshal(d.After)
	return err != nil || err2 != nil || string(before) != string(after)
}

func (a *api) clear(r *http.Request, body *adminapi.ChangeName) (adminapi.Change, error) {
	key, err := changedKey(body.Key)
	if err != nil {
		return adminapi.Change{}, err
	}
	cleared, err := a.clearOverride(r.Context(), body.Policy, key, policies.By{Author: body.Author, User: caller(r), Reason: body.Reason})
	if err == nil {
		a.history.add(adminapi.Action{Action: "clear", Policy: cleared.Policy, KeyFields: adminapi.NewOverrideKey(cleared.Key), Author: body.Author, User: caller(r), Reason: body.Reason, Before: cleared.Before, After: cleared.After})
	}
	return cleared.Change, err
}

func (a *api) reload(r *http.Request, _ *adminapi.None) (answer adminapi.Reloaded, err error) {
	if err := a.Policies.Reload(r.Context()); err != nil {
		return answer, &adminapi.Error{Status: http.StatusUnprocessableEntity, Detail: err.Error(), Code: errcode.InvalidFile}
	}
	a.audited(adminapi.Action{Action: "reload", User: caller(r)})
	return adminapi.Reloaded{Generation: a.Service.Generation()}, nil
}

// acceptLoss trusts a store that has lost data, and logs the author, the user and the reason.
func (a *api) acceptLoss(r *http.Request, body *adminapi.Acceptance) (answer adminapi.AcceptedLoss, err error) {
	if err := signed(body.Author, body.Reason); err != nil || a.AcceptLoss == nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), explainTimeout)
	defer cancel()
	if answer.Lost, err = a.AcceptLoss(ctx); err != nil || !answer.Lost {
		return answer, err
	}
	a.audited(adminapi.Action{Action: "accept-loss", Author: body.Author, User: caller(r), Reason: body.Reason})
	return answer, nil
}

// audited logs an action that is not a change to a policy, and adds it to the history.
func (a *api) audited(done adminapi.Action) {
	a.Logger.Info("audit", "action", done.Action, "author", done.Author, "user", done.User, "reason", done.Reason)
	a.history.add(done)
}
