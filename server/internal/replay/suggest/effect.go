package suggest

import (
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/server/internal/replay/series"
	"github.com/headgate/headgate/server/internal/replay/simulate"
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

// decided holds the times of all passed and denied requests, in order.
type decided struct{ passed, denied []int64 }

// decide decides a key's requests, appends their times, and returns the number of denials.
func (d *decided) decide(limits []engine.Limit, times []int64) (denied int64) {
	free := int64(len(times))
	for _, limit := range limits {
		free = min(free, series.Free(limit))
	}
	if free == int64(len(times)) { // no limit can deny a request
		d.passed = append(d.passed, times...)
		return 0
	}
	j := newJoint(limits)
	for _, now := range times {
		if j.allow(now) {
			d.passed = append(d.passed, now)
		} else {
			d.denied = append(d.denied, now)
			denied++
		}
	}
	return denied
}

// effect decides all requests with all suggestions together. It returns the counts, and the times of the requests that
// passed and were denied.
func (f *finder) effect(all []Suggestion) (e Effect, d decided) {
	e = Effect{Requests: int64(f.groups.Len())}
	parts := make([]decided, cores())
	parallel(len(f.all), func(part, from, to int) {
		for place := from; place < to; place++ {
			f.all[place].denied = parts[part].decide(limitsFor(all, place), f.groups.Times(place))
		}
		slices.Sort(parts[part].passed)
		slices.Sort(parts[part].denied)
	})
	for _, part := range parts {
		d.passed, d.denied = merged(d.passed, part.passed), merged(d.denied, part.denied)
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
	e.PeakAfter = mostIn(d.passed, time.Second)
	return e, d
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

// over counts the requests over time, and by hour and weekday.
func (d *decided) over(zone *time.Location) (t simulate.Traffic, h simulate.Heat) {
	h = simulate.NewHeat(zone)
	passed, denied := d.passed, d.denied
	for len(passed)+len(denied) > 0 {
		if len(denied) == 0 || len(passed) > 0 && passed[0] <= denied[0] {
			t.Add(passed[0], false)
			h.Add(passed[0], false)
			passed = passed[1:]
		} else {
			t.Add(denied[0], true)
			h.Add(denied[0], true)
			denied = denied[1:]
		}
	}
	return t.Shown(), h
}

// peakAfter returns the maximum number of requests from all keys in any second under the suggestions.
func (f *finder) peakAfter(all []Suggestion) int64 {
	e, _ := f.effect(all)
	return e.PeakAfter
}
