package suggest

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/internal/rule"
)

// protectShare lowers a limit so that a single key can use, in any minute, at most a share of the capacity per minute.
func (f *finder) protectShare(s *Suggestion) {
	bound := int64(f.options.Share * perSecond(f.options.Capacity) * 60)
	most := perMinuteMost(s.limit)
	said := fmt.Sprintf("a key gets at most %s of %s: %s in any minute", shareText(f.options.Share), f.options.Capacity, format.Counted(bound, "request"))
	switch {
	case most <= bound:
		s.Why = append(s.Why, "It keeps what was asked for: "+said+", and it lets "+fmt.Sprint(most)+" through.")
		return
	case bound < 2:
		s.Why = append(s.Why, "It does not keep what was asked for: "+said+" is less than any limit lets through.")
		return
	}
	rate := rates[0]
	for _, r := range rates {
		if perSecond(r)*120 <= float64(bound) {
			rate = r
		}
	}
	narrow := rule.TokenBucket(rate, rule.Burst(roundDown(max(1, bound-int64(perSecond(rate)*60)))))
	c := f.evaluate(narrow)
	for i := range s.Compared {
		s.Compared[i].Chosen = false
	}
	c.Chosen = true
	s.Compared = append(s.Compared, c)
	s.set(narrow)
	s.Why = []string{
		fmt.Sprintf("It keeps what was asked for: %s.", said),
		fmt.Sprintf("It denies %d keys that behave something, %d requests: with more room for a key they would pass.", c.Behaved, c.BehavedRequests),
	}
	s.Overrides = nil
}

// perMinuteMost returns the maximum number of units that a limit allows in any minute.
func perMinuteMost(limit engine.Limit) int64 {
	rate := limit.Rate(0)
	windows := int64((time.Minute + rate.Period - 1) / rate.Period)
	switch a := limit.Algorithm(); {
	case a.Refills():
		return limit.Capacity() + int64(perSecond(rate)*60)
	case a.KeepsTimes():
		return rate.Count * windows
	default: // a minute can overlap with one more window
		return rate.Count * (windows + 1)
	}
}

// mostDenied is the share of the well-behaved keys' requests that a limit may deny in order to protect the total.
const mostDenied = 0.25

// protectTotal lowers the first limit until the total in every second is within the requested bound. It returns a
// sentence that says whether it succeeded.
func (f *finder) protectTotal(all []Suggestion) string {
	bound := f.options.Total
	if peak := f.peakAfter(all); peak <= bound {
		return fmt.Sprintf("No second has more than %s in all: the busiest one has %d.", format.Counted(bound, "request"), peak)
	}
	sequence := narrower(all[0].limit)
	try := func(i int) bool {
		all[0].set(sequence[i])
		all[0].Overrides = nil
		return f.peakAfter(all) <= bound
	}
	saved := slices.Clone(all)
	at := sort.Search(len(sequence), try)
	if at == len(sequence) {
		copy(all, saved)
		return fmt.Sprintf("No limit per key keeps every second to %s in all: the keys are too many. Limit all requests together with --key '{const: all}'.", format.Counted(bound, "request"))
	}
	try(at)
	if e, _ := f.effect(all); float64(e.RequestsDenied) > mostDenied*float64(e.BehavedRequests) {
		copy(all, saved)
		return fmt.Sprintf("A limit per key keeps every second to %s in all only if it denies %.0f %% of the requests of keys that behave. One limit of all keys denies what is too much alone: --key '{const: all}' --max-second %d.",
			format.Counted(bound, "request"), 100*float64(e.RequestsDenied)/float64(e.BehavedRequests), bound)
	}
	c := f.evaluate(all[0].limit)
	c.Chosen = true
	for i := range all[0].Compared {
		all[0].Compared[i].Chosen = false
	}
	all[0].Compared = append(all[0].Compared, c)
	all[0].Why = append(all[0].Why, fmt.Sprintf("It is narrower than the keys need, so that no second has more than %s in all.", format.Counted(bound, "request")))
	return fmt.Sprintf("No second has more than %s in all.", format.Counted(bound, "request"))
}

// narrower returns token buckets that lead from a limit down to one request per minute. They lower the burst first,
// then the rate.
func narrower(limit engine.Limit) (all []engine.Limit) {
	rate, burst := limit.Rate(0), limit.Capacity()
	at := len(rates) - 1
	for at > 0 && perSecond(rates[at]) > perSecond(rate) {
		at--
	}
	for {
		all = append(all, rule.TokenBucket(rates[at], rule.Burst(burst)))
		switch {
		case float64(burst) > max(1, perSecond(rates[at])):
			burst = roundDown(max(1, burst*2/3))
		case at > 0:
			at--
		default:
			return all
		}
	}
}

// protectOne compares limits for a single key, such as a const. It considers the limits that keep the requests in
// every second within the bound, and suggests the one with the fewest denials.
func (f *finder) protectOne() Suggestion {
	bound := f.options.Total
	limits := []engine.Limit{
		rule.TokenBucket(rule.PerSecond(max(1, bound/2)), rule.Burst(max(1, bound-bound/2))),
		rule.SlidingWindow(rule.PerSecond(bound), rule.Strict(), rule.Segments(50)),
		rule.SlidingLog(rule.PerSecond(bound)),
	}
	var s Suggestion
	best := -1
	for _, limit := range limits {
		if limit.Err() != nil {
			continue
		}
		c := f.evaluate(limit)
		s.Compared = append(s.Compared, c)
		if i := len(s.Compared) - 1; c.Second <= bound && (best < 0 || c.BehavedRequests < s.Compared[best].BehavedRequests) {
			best = i
		}
	}
	best = max(best, 0)
	s.Compared[best].Chosen = true
	s.Policy = "total"
	s.set(s.Compared[best].limit)
	s.Why = []string{
		fmt.Sprintf("It lets no second have more than %d requests, wherever the second begins, as was asked for. The busiest second of the log has %d.", bound, f.all[0].most[inSecond]),
		fmt.Sprintf("It denies %d requests, the fewest of the algorithms that were compared.", s.Compared[best].BehavedRequests),
	}
	return s
}

// shareText formats a share from 0 to 1 as a percentage, such as "2.5 %".
func shareText(share float64) string { return fmt.Sprintf("%g %%", share*100) }
