package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/policies"
)

const (
	// maxOverrides is how many overrides an answer lists.
	maxOverrides = 1000
	// maxPage is how many policies a call can ask for by number.
	maxPage = 1000
)

// policyView is a policy, with the parts of the file and of the changes told apart.
type policyView struct {
	Name string `json:"name"`
	// InForce is the policy as it decides, and File as the file has it; nil if only a
	// change has it.
	InForce *policy.Summary `json:"in_force"`
	File    *policy.Summary `json:"file"`
	// ShadowLimits are the places of the limits in force that are shadows of other policies.
	ShadowLimits []int `json:"shadow_limits,omitempty"`
	// Change is the change on top; nil if there is none.
	Change *policies.Change `json:"change"`
	// Overrides are those in force, at most 1000. OverrideCount is how many there are.
	Overrides     []overrideView `json:"overrides,omitempty"`
	OverrideCount int            `json:"override_count"`
}

// overrideView is an override in force.
type overrideView struct {
	Key string `json:"key"`
	// Limit is the limit in force, and File that of the file, "" if only a change has one.
	Limit  string           `json:"limit"`
	File   string           `json:"file,omitempty"`
	Change *policies.Change `json:"change"`
}

// changeName is what a change is of.
type changeName struct{ policy, key string }

// inForce is one reading of the policies in force.
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

// view returns one policy; false if there is none of this name.
func (f *inForce) view(name string, overrides int) (v policyView, ok bool) {
	p, ok := f.current.Policies.Get(name)
	if !ok {
		return v, false
	}
	summary := p.Summary()
	v = policyView{Name: name, InForce: &summary, ShadowLimits: shadowLimits(p), Change: f.changes[changeName{name, ""}], OverrideCount: len(summary.Overrides)}
	ofFile := map[string]string{}
	if inFile, ok := f.file.Policies.Get(name); ok {
		file := inFile.Summary()
		for _, o := range file.Overrides {
			ofFile[o.Key] = o.Limit
		}
		file.Overrides = nil
		v.File = &file
	}
	for _, o := range summary.Overrides[:min(len(summary.Overrides), overrides)] {
		v.Overrides = append(v.Overrides, overrideView{Key: o.Key, Limit: o.Limit, File: ofFile[o.Key], Change: f.changes[changeName{name, o.Key}]})
	}
	summary.Overrides = nil
	return v, true
}

// shadowLimits returns the places of the limits that do not decide where their policy does.
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

// listPolicies answers all policies, or a page of those whose name has a text in it.
func (a *api) listPolicies(_ http.ResponseWriter, r *http.Request) (any, error) {
	n, err := number(r, "n", 0, maxPage)
	if err != nil {
		return nil, err
	}
	from, err := number(r, "from", 1, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	f, part := a.inForce(), strings.ToLower(r.URL.Query().Get("name"))
	answer := struct {
		Generation uint64       `json:"generation"`
		Total      int          `json:"total"`
		Policies   []policyView `json:"policies"`
	}{a.Service.Generation(), 0, []policyView{}}
	for _, name := range f.current.Policies.Names() {
		if !strings.Contains(strings.ToLower(name), part) {
			continue
		}
		answer.Total++
		if answer.Total >= from && (n == 0 || answer.Total < from+n) {
			v, _ := f.view(name, 0)
			answer.Policies = append(answer.Policies, v)
		}
	}
	return answer, nil
}

func (a *api) showPolicy(_ http.ResponseWriter, r *http.Request) (any, error) {
	f := a.inForce()
	v, ok := f.view(r.PathValue("name"), maxOverrides)
	if !ok {
		return nil, noPolicy(r.PathValue("name"))
	}
	return v, nil
}

func noPolicy(name string) error {
	return &refusal{http.StatusNotFound, "policy", "no policy " + strconv.Quote(name[:min(len(name), 128)])}
}

func (a *api) listChanges(http.ResponseWriter, *http.Request) (any, error) {
	_, _, changes := a.Policies.InForce()
	return struct {
		Changes []policies.Change `json:"changes"`
	}{append([]policies.Change{}, changes...)}, nil
}

// changeFields are a change in a request.
type changeFields struct {
	Policy  string          `json:"policy"`
	Key     *string         `json:"key"`
	Fields  json.RawMessage `json:"fields"`
	Author  string          `json:"author"`
	Reason  string          `json:"reason"`
	Expires time.Time       `json:"expires"`
	// For is how long the change lasts, in place of Expires.
	For string `json:"for"`
}

func (c *changeFields) read(a *api, w http.ResponseWriter, r *http.Request) (policies.Change, error) {
	if err := decode(w, r, c); err != nil {
		return policies.Change{}, err
	}
	key, err := changedKey(c.Key)
	if err != nil {
		return policies.Change{}, err
	}
	if c.Policy == "" {
		return policies.Change{}, badField("policy", "not set; accepted: the name of a policy")
	}
	if c.Fields == nil {
		return policies.Change{}, badField("fields", `not set; accepted: the fields of a policy, such as {"rate":"50/s"}`)
	}
	change := policies.Change{Policy: c.Policy, Key: a.overrideKey(key), Fields: c.Fields, Author: c.Author, Reason: c.Reason, Expires: c.Expires}
	if c.For == "" {
		return change, nil
	}
	d, err := engine.ParseSpan(c.For)
	if err != nil || d <= 0 || !c.Expires.IsZero() {
		return change, badField("for", strconv.Quote(c.For)+"; accepted: a duration such as 30m, 1h30m, 2d or 1w, without expires")
	}
	change.For = d
	return change, nil
}

// changedKey returns the key that a change is of, "" of the policy itself. An empty one is an
// error: the key that was meant is not known, and the policy was not.
func changedKey(key *string) (string, error) {
	switch {
	case key == nil:
		return "", nil
	case *key == "":
		return "", badField("key", "empty; accepted: a key or a pattern, or no key for the policy itself")
	default:
		return *key, nil
	}
}

func (a *api) change(w http.ResponseWriter, r *http.Request) (any, error) {
	var fields changeFields
	c, err := fields.read(a, w, r)
	if err != nil {
		return nil, err
	}
	made, err := a.Policies.Change(r.Context(), c)
	if err == nil {
		a.history.add(action{
			Action: "change", Policy: made.Policy, keyFields: newKey(made.Key), Author: made.Author, Reason: made.Reason,
			Fields: made.Fields, Expires: made.Expires,
		})
	}
	return made, fits(err)
}

// fits gives the error of a change that does not fit its status. An error of the store, or
// of the state file, keeps its own.
func fits(err error) error {
	var file *fs.PathError
	if err == nil || problemOf(err).Status != http.StatusServiceUnavailable || errors.Is(err, headgate.ErrStoreUnavailable) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &file) {
		return err
	}
	return &refusal{http.StatusUnprocessableEntity, "fields", err.Error()}
}

// trial is what a change would do.
type trial struct {
	// Policies are those that would differ.
	Policies []difference `json:"policies"`
}

type difference struct {
	Name   string          `json:"name"`
	Before *policy.Summary `json:"before"`
	After  *policy.Summary `json:"after"`
}

func (a *api) try(w http.ResponseWriter, r *http.Request) (any, error) {
	var fields changeFields
	c, err := fields.read(a, w, r)
	if err != nil {
		return nil, err
	}
	before, after, err := a.Policies.Try(r.Context(), c)
	if err != nil {
		return nil, fits(err)
	}
	answer := trial{Policies: []difference{}}
	for _, name := range after.Policies.Names() {
		d := difference{Name: name}
		if p, ok := before.Policies.Get(name); ok {
			s := p.Summary()
			d.Before = &s
		}
		p, _ := after.Policies.Get(name)
		s := p.Summary()
		d.After = &s
		if d.differs(c.Key) {
			answer.Policies = append(answer.Policies, d)
		}
	}
	return answer, nil
}

// differs reports whether a policy would change, and keeps of its overrides only that of
// the key.
func (d *difference) differs(key string) bool {
	for _, s := range []*policy.Summary{d.Before, d.After} {
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

func (a *api) clear(w http.ResponseWriter, r *http.Request) (any, error) {
	var body struct {
		Policy string  `json:"policy"`
		Key    *string `json:"key"`
		Author string  `json:"author"`
		Reason string  `json:"reason"`
	}
	if err := decode(w, r, &body); err != nil {
		return nil, err
	}
	key, err := changedKey(body.Key)
	if err != nil {
		return nil, err
	}
	cleared, err := a.clearOverride(r.Context(), body.Policy, key, body.Author, body.Reason)
	if err == nil {
		a.history.add(action{Action: "clear", Policy: cleared.Policy, keyFields: newKey(cleared.Key), Author: body.Author, Reason: body.Reason})
	}
	return cleared, err
}

func (a *api) reload(w http.ResponseWriter, r *http.Request) (any, error) {
	var body struct{}
	if err := decode(w, r, &body); err != nil {
		return nil, err
	}
	if err := a.Policies.Reload(r.Context()); err != nil {
		return nil, &refusal{http.StatusUnprocessableEntity, "", err.Error()}
	}
	a.history.add(action{Action: "reload"})
	return struct {
		Generation uint64 `json:"generation"`
	}{a.Service.Generation()}, nil
}
