package suggest

import (
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// joint holds one key's limits, which are charged all or nothing.
type joint struct {
	steps  []algo.Step
	stored []algo.State
	limits []engine.Limit
}

func newJoint(limits []engine.Limit) *joint {
	return &joint{steps: make([]algo.Step, len(limits)), stored: make([]algo.State, len(limits)), limits: limits}
}

// allow charges one unit to all limits, or to none.
func (j *joint) allow(now int64) bool {
	for i := range j.steps {
		j.steps[i] = algo.Step{Limit: j.limits[i].Numbers(), Cost: 1, State: j.stored[i]}
	}
	allowed := algo.Allow(j.steps, algo.Instant{Now: now, Wall: now})
	for i := range j.steps {
		if s := &j.steps[i]; s.Write {
			if j.stored[i] = s.State; s.TTL <= 0 {
				j.stored[i] = algo.State{}
			}
		}
	}
	return allowed
}

// limitsFor returns the limits that apply to the key with index place: for each suggestion, its limit or the key's
// override.
func limitsFor(all []Suggestion, place int) (limits []engine.Limit) {
	for i := range all {
		limit := all[i].limit
		for _, o := range all[i].Overrides {
			if o.place == place {
				limit = o.limit
			}
		}
		limits = append(limits, limit)
	}
	return limits
}

// decide decides a key's requests, and appends the times of those that pass.
func decide(limits []engine.Limit, times, passed []int64) []int64 {
	if !slices.ContainsFunc(limits, func(limit engine.Limit) bool { return free(limit) < int64(len(times)) }) {
		return append(passed, times...) // no limit can deny a request
	}
	j := newJoint(limits)
	for _, now := range times {
		if j.allow(now) {
			passed = append(passed, now)
		}
	}
	return passed
}

// effect decides all requests with all suggestions together.
func (f *finder) effect(all []Suggestion) (e Effect) {
	e = Effect{Requests: int64(len(f.groups.times))}
	parts := make([][]int64, cores())
	parallel(len(f.all), func(part, from, to int) {
		for place := from; place < to; place++ {
			times, before := f.groups.of(place), len(parts[part])
			parts[part] = decide(limitsFor(all, place), times, parts[part])
			f.all[place].denied = int64(len(times) - (len(parts[part]) - before))
		}
		slices.Sort(parts[part])
	})
	var passed []int64
	for _, part := range parts {
		passed = merged(passed, part)
	}
	for place := range f.all {
		p := &f.all[place]
		e.Denied += p.denied
		if p.class == outlier {
			e.Outliers++
			e.OutlierRequests += p.requests
			e.OutlierDenied += p.denied
			continue
		}
		e.Behaved++
		e.BehavedRequests += p.requests
		e.RequestsDenied += p.denied
		if p.denied > 0 {
			e.BehavedDenied++
		}
	}
	e.PeakAfter = mostIn(passed, time.Second)
	return e
}

// merged merges two sorted lists of times.
func merged(a, b []int64) []int64 {
	if len(a) == 0 {
		return b
	}
	all := make([]int64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}
