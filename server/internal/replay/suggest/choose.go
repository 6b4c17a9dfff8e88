package suggest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// stopped is the minimum share of a key's requests that a limit must deny for the key to count as stopped.
const stopped = 0.5

// allowed returns the number of well-behaved keys that a limit may affect.
func (f *finder) allowed() int64 {
	return int64(math.Floor(f.options.Deny * float64(len(f.behaved))))
}

// choose marks the best limit: among the limits that affect few enough well-behaved keys, it is the limit that denies
// the most requests from outliers. An earlier limit wins if it denies nearly as many.
func (f *finder) choose(limits []engine.Limit) (all []Compared, chosen int) {
	for _, limit := range limits {
		if limit.Err() == nil {
			all = append(all, f.evaluate(limit))
		}
	}
	fewest, best := int64(math.MaxInt64), 0.0
	for i := range all {
		fewest = min(fewest, all[i].Behaved)
	}
	most := max(fewest, f.allowed())
	for i := range all {
		if all[i].Behaved <= most {
			best = max(best, all[i].Outliers)
		}
	}
	chosen = slices.IndexFunc(all, func(c Compared) bool { return c.Behaved <= most && c.Outliers >= best-nearly })
	all[chosen].Chosen = true
	return all, chosen
}

// split divides the keys into groups for computing the limits. A shared address that needs more than twice as much as
// the other keys gets its own limits.
func (f *finder) split() {
	var sharedKeys []int
	var needed [len(Windows)]int64
	for i := range f.all {
		switch f.all[i].class {
		case outlier:
			f.outliers = append(f.outliers, i)
		case shared:
			sharedKeys = append(sharedKeys, i)
		default:
			f.behaved = append(f.behaved, i)
			for w := range needed {
				needed[w] = max(needed[w], f.all[i].most[w])
			}
		}
	}
	var large []int
	alone := len(f.behaved) == 0 // there are no keys of single persons to compare with
	for _, i := range sharedKeys {
		if !alone && f.all[i].exceeds(&needed) && exemptible(f.texts[i]) {
			large = append(large, i)
		} else {
			f.behaved = append(f.behaved, i)
		}
	}
	if len(large) > maxOverrides {
		f.behaved, large = append(f.behaved, large...), nil
	}
	slices.Sort(f.behaved)
	f.exempt = large
	if len(f.behaved) == 0 { // all keys are outliers, so treat none as an outlier
		f.behaved, f.outliers = f.outliers, nil
	}
}

// exceeds reports whether a key needs more than twice as much as the others in a minute, an hour or a day.
func (p *profile) exceeds(others *[len(Windows)]int64) bool {
	return p.most[inMinute] > 2*others[inMinute] || p.most[inHour] > 2*others[inHour] || p.most[inDay] > 2*others[inDay]
}

// maxOverrides is the maximum number of keys with their own limits. If more keys need one, the limit for all keys is
// made large enough for them.
const maxOverrides = 20

// exemptible reports whether an override can name the key. The key must be valid UTF-8 and must not contain a star,
// because that is a wildcard in an override.
func exemptible(key string) bool { return !strings.Contains(key, "*") && utf8.ValidString(key) }

// suggestions computes the limits: one for bursts and steady use and, if that does not stop all outliers, one for
// totals over an hour or a day.
func (f *finder) suggestions() []Suggestion {
	short := f.suggestion(f.policy, f.short())
	f.explainShort(&short)
	all := []Suggestion{short}
	if slow := f.notStopped(short.limit); len(slow) > 0 {
		if long, ok := f.longSuggestion(slow); ok {
			all = append(all, long)
		}
	}
	return all
}

// suggestion chooses the best of the limits and returns it as a suggestion.
func (f *finder) suggestion(policy string, limits []engine.Limit) Suggestion {
	compared, chosen := f.choose(limits)
	s := Suggestion{Policy: policy, Compared: compared}
	s.set(compared[chosen].limit)
	for _, place := range f.exempt {
		if o := f.override(place, s.limit); !within(o.limit, s.limit) {
			s.Overrides = append(s.Overrides, o)
		}
	}
	return s
}

// within reports whether limit a never allows more than limit b. Both must use the same algorithm.
func within(a, b engine.Limit) bool {
	return a.Capacity() <= b.Capacity() && perSecond(a.Rate(0)) <= perSecond(b.Rate(0))
}

// set sets the suggested limit, and the fields that describe it.
func (s *Suggestion) set(limit engine.Limit) {
	rate := limit.Rate(0)
	s.limit, s.Limit, s.Algorithm = limit, limit.String(), limit.Algorithm().String()
	s.Rate, s.Window, s.Burst = rate.String(), windowText(rate.Period), limit.Capacity()
}

// override returns the limit for the shared address with index place. It uses the algorithm and window of limit, the
// limit for all other keys.
func (f *finder) override(place int, limit engine.Limit) Override {
	p, rate := &f.all[place], limit.Rate(0)
	o := Override{Key: f.texts[place], place: place}
	if limit.Algorithm().Refills() && rate.Period < Windows[inHour].Length {
		for _, higher := range rates {
			if o.limit = f.bucketAt(higher, []int{place}); perSecond(higher) >= perSecond(rate) && refill(o.limit) <= maxRefill {
				break
			}
		}
	} else {
		w := slices.IndexFunc(Windows[:], func(w Window) bool { return w.Length == rate.Period })
		o.limit = withCount(limit, max(rate.Count, roundUp(headroom(p.most[max(w, 0)]))))
	}
	o.Limit = o.limit.String()
	o.Why = fmt.Sprintf("looks like about %d people behind one address: its requests come in the sessions of that many values of User-Agent", p.people())
	return o
}

// withCount returns a limit with the same algorithm and window, but another count.
func withCount(limit engine.Limit, count int64) engine.Limit {
	return engine.Build(limit.Algorithm(), []engine.Rate{rule.Per(count, limit.Rate(0).Period)})
}

// notStopped returns the outliers that a limit does not stop.
func (f *finder) notStopped(limit engine.Limit) (keys []int) {
	for _, key := range f.outliers {
		if float64(denied(limit, f.groups.of(key))) < stopped*float64(f.all[key].requests) {
			keys = append(keys, key)
		}
	}
	return keys
}

// longSuggestion returns a limit over an hour or a day for slow, the outliers that the short limit does not stop. Of
// the two windows, it chooses the one whose limit denies the larger share of their requests. ok is false if neither
// limit denies more than a tenth.
func (f *finder) longSuggestion(slow []int) (s Suggestion, ok bool) {
	narrowed := *f
	narrowed.outliers = slow
	best := 0.1
	for _, w := range []int{inHour, inDay} {
		tried := narrowed.suggestion(f.policy+"-"+map[int]string{inHour: "hour", inDay: "day"}[w], narrowed.long(w))
		if share := narrowed.deniedShare(tried.limit); share > best {
			best, s, ok = share, tried, true
		}
	}
	if ok {
		narrowed.explainLong(&s, slow)
	}
	return s, ok
}
