// Package audit measures in production whether limits hold. For a sample of keys, it counts the units that this
// server has admitted beyond their limits, and compares them with the bounds stated in the answers.
//
// The auditor keeps its own counter for each limit of a sampled key, and charges the admitted units to it at the time
// of each decision. Units that do not fit are over-admission. The counter includes only this server's requests. On a
// shared store other servers spend too, so the measurement is a lower bound. The auditor does not see units that other
// servers give back or reset, so they look like over-admission.
package audit

import (
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

const (
	// MaxSample is the largest sample rate: one key in MaxSample is audited.
	MaxSample = 1 << 20
	// maxStates bounds the number of counters. Further keys are not audited.
	maxStates = 100_000
	// maxPolicies bounds the number of policies with their own figures. Further policies are not audited.
	maxPolicies = 10_000
)

// Figures holds the measurements for a policy's sampled keys.
type Figures struct {
	Policy string
	// Units is the number of admitted units, and Over is the number of admitted units beyond the limits.
	Units, Over int64
	// Bound is the largest overshoot stated in an answer. It is [engine.Unbounded] if an answer stated no bound.
	Bound int64
}

// Auditor audits decisions. It is safe for concurrent use.
type Auditor struct {
	sample uint64
	seed   maphash.Seed

	mu      sync.Mutex
	now     time.Time // time of the decision being charged
	store   *memstore.Store
	figures map[string]*Figures
	// epochs are part of the counters' names, so that a key can start with new counters. epoch is for keys without an
	// epoch of their own.
	epochs      map[string]int64
	epoch, next int64
	// divided is the epoch for all keys of limits that divide their units among keys.
	divided int64
}

// New returns an auditor that audits one key in sample, which is 1 to [MaxSample].
func New(sample int) (*Auditor, error) {
	a := &Auditor{sample: uint64(sample), seed: maphash.MakeSeed(), figures: map[string]*Figures{}, epochs: map[string]int64{}}
	var err error
	a.store, err = memstore.New(memstore.Config{MaxKeys: maxStates, Clock: func() time.Time { return a.now }})
	return a, err
}

// Observe implements [service.Observer].
func (a *Auditor) Observe(o *service.Observed) {
	for i := range o.Requests {
		r, answer := &o.Requests[i], &o.Responses[i]
		if answer.Err != nil {
			continue
		}
		if (r.Kind == engine.OpGive || r.Kind == engine.OpReset) && answer.Requested != nil && answer.Requested.Divides() {
			a.forgetDivided()
		}
		if !answer.Listed {
			if answer.Requested != nil && a.samples(o.Key(i)) {
				a.audit(r, answer, o.Key(i), 0, answer.Count())
			}
			continue
		}
		for at := range answer.Count() { // each charge has its own key
			if c := answer.Charge(at); c.Policy != "" && a.samples(c.Key) {
				a.audit(r, answer, c.Key, at, at+1)
			}
		}
	}
}

// audit charges the charges of an allowed request, from and up to the given indexes, to the counters of its key. If the request gave units back, reset the key or can be
// settled later, it restarts the counters instead.
func (a *Auditor) audit(r *decide.Request, answer *decide.Response, key string, from, to int) {
	switch {
	case r.Kind == engine.OpGive, r.Kind == engine.OpReset, r.Kind == engine.OpReserve, answer.Charged != nil:
		a.forget(key)
	case (r.Kind == engine.OpAllow || r.Kind == engine.OpCount) && answer.Allowed:
		a.charge(key, answer, from, to)
	}
}

func (a *Auditor) samples(key string) bool {
	return maphash.String(a.seed, key)%a.sample == 0
}

// charge charges the request's cost to the key's counters, and adds the units that do not fit to Over.
func (a *Auditor) charge(key string, answer *decide.Response, from, to int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = answer.At()
	for i := from; i < to; i++ {
		limit := answer.Charge(i)
		measured, ok := engine.UpperBound(limit.Limit)
		f := a.of(limit.Policy)
		if f == nil || !ok || limit.Cost <= 0 {
			continue
		}
		space := limit.Policy
		if limit.Limit.Algorithm().Divides() {
			space = strconv.FormatInt(a.divided, 10) + ":" + space
		}
		result := a.spend(key, space, measured, limit.Cost)
		if result.Err != nil {
			continue // no room for another key
		}
		f.Units += limit.Cost
		f.Over += limit.Cost - result.Granted
		f.Bound = max(f.Bound, answer.Promise.OvershootMax)
	}
}

// forget replaces a key's counters with new ones, because units were given back or may be given back later.
func (a *Auditor) forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next++
	if len(a.epochs) == maxStates {
		clear(a.epochs)
		a.epoch = a.next // all keys get new counters
		return
	}
	a.epochs[strings.Clone(key)] = a.next
}

// forgetDivided replaces the counters that keys share, because units that one key gives back are available to all.
func (a *Auditor) forgetDivided() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.divided++
}

// spend charges up to cost units, as many as fit, to the auditor's counter for a key in a namespace. The result's
// Answer.Granted is the number of charged units.
func (a *Auditor) spend(key, space string, limit engine.Limit, cost int64) engine.Answer {
	epoch, known := a.epochs[key]
	if !known {
		epoch = a.epoch
	}
	op := engine.Single(engine.OpAtMost, key, limit, cost)
	op.Space = strconv.FormatInt(epoch, 10) + ":" + space
	results := make([]engine.Answer, 1)
	a.store.Do(context.Background(), []engine.Op{op}, results)
	return results[0]
}

// of returns a policy's figures. It returns nil if there is no room for another policy.
func (a *Auditor) of(name string) *Figures {
	f := a.figures[name]
	if f == nil && len(a.figures) < maxPolicies {
		f = &Figures{Policy: name}
		a.figures[name] = f
	}
	return f
}

// Figures returns the measurements, sorted by policy.
func (a *Auditor) Figures() []Figures {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]Figures, 0, len(a.figures))
	for f := range maps.Values(a.figures) {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b Figures) int { return cmp.Compare(a.Policy, b.Policy) })
	return all
}
