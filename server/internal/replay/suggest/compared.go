package suggest

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// finder finds the limits to suggest.
type finder struct {
	groups  *groups
	texts   []string
	all     []profile
	options Options
	policy  string // the name of the suggested policy
	// behaved and outliers are indices of keys. The keys in exempt get their own limits and are in neither list.
	behaved, outliers, exempt []int
	// set is the note about a small group of keys that determines the limit, or "" if there is no such group.
	set string
}

// maxRefill is the maximum time that a suggested limit's bucket takes to refill.
const maxRefill = 2 * time.Minute

// bucketAt returns the bucket with the given rate. Its burst affects few enough of the keys, and includes headroom
// for busier days.
func (f *finder) bucketAt(rate engine.Rate, keys []int) engine.Limit {
	burst := roundUp(headroom(neededBursts(f.groups, keys, rate, f.options.Deny)))
	return rule.TokenBucket(rate, rule.Burst(burst))
}

// refill returns how long an empty bucket takes to refill.
func refill(l engine.Limit) time.Duration {
	return time.Duration(float64(l.Capacity()) / perSecond(l.Rate(0)) * float64(time.Second))
}

// mostOften is the maximum ratio between the requests that the chosen bucket and the bucket with the lowest rate admit
// in a minute or an hour. It bounds how far outliers can raise the limit, because the lowest rate depends only on
// well-behaved keys.
const mostOften = 2

// admits returns how many requests from one key a limit admits within a duration, starting from idle.
func admits(l engine.Limit, d time.Duration) int64 {
	rate := l.Rate(0)
	if l.Algorithm().Refills() {
		return l.Capacity() + int64(float64(rate.Count)*d.Seconds()/rate.Period.Seconds())
	}
	return l.Capacity() * max(1, int64(d/rate.Period))
}

// lowest returns the bucket with the lowest rate that refills within maxRefill, and the rate's index in rates. If no
// bucket does, it returns the bucket with the highest rate. Higher rates do not need a larger burst, so their buckets
// refill even sooner.
func (f *finder) lowest(keys []int) (limit engine.Limit, place int) {
	for place = range rates {
		if limit = f.bucketAt(rates[place], keys); limit.Err() == nil && refill(limit) <= maxRefill {
			break
		}
	}
	return limit, place
}

// bucket returns the token bucket that denies the most requests from outliers without affecting the other keys. Among
// buckets that deny nearly as many, the highest rate wins. If there are no outliers, the lowest rate wins.
func (f *finder) bucket(keys []int) engine.Limit {
	lowest, place := f.lowest(keys)
	var chosen []Compared
	for limit := lowest; likeLowest(limit, lowest); limit = f.bucketAt(rates[place], keys) {
		c := Compared{limit: limit, Outliers: f.deniedShare(limit)}
		chosen = append(chosen, c)
		if place++; place == len(rates) || limit.Capacity() == 1 || len(f.outliers) == 0 || c.Outliers == 0 {
			break // higher rates deny less
		}
	}
	best, last := 0.0, 0
	for i := range chosen {
		best = max(best, chosen[i].Outliers)
	}
	for i := range chosen {
		if chosen[i].Outliers >= best-nearly {
			last = i
			if len(f.outliers) == 0 || best == 0 {
				break
			}
		}
	}
	return chosen[last].limit
}

// likeLowest reports whether a limit admits at most mostOften times as many requests as the bucket with the lowest
// rate.
func likeLowest(l, lowest engine.Limit) bool {
	for _, w := range []int{inMinute, inHour} {
		if admits(l, Windows[w].Length) > mostOften*admits(lowest, Windows[w].Length) {
			return false
		}
	}
	return true
}

// nearly is the difference between two shares that is considered irrelevant.
const nearly = 0.05

// deniedShare returns the share of the outliers' requests that a limit denies.
func (f *finder) deniedShare(limit engine.Limit) float64 {
	gone, requests := int64(0), int64(0)
	for _, key := range f.outliers {
		gone += denied(limit, f.groups.of(key))
		requests += f.all[key].requests
	}
	if requests == 0 {
		return 0
	}
	return float64(gone) / float64(requests)
}

// short returns the candidates for the limit on bursts and steady use: a token bucket, and windows of up to a minute.
func (f *finder) short() []engine.Limit {
	limits := []engine.Limit{f.bucket(f.behaved)}
	minute, tenSeconds := f.rate(inMinute), f.rate(inTenSeconds)
	return append(limits, rule.FixedWindow(minute), rule.SlidingWindow(minute), rule.SlidingLog(minute), rule.SlidingWindow(tenSeconds))
}

// long returns the candidates for the limit on the total over the window with index w.
func (f *finder) long(w int) []engine.Limit {
	rate := f.rate(w)
	limits := []engine.Limit{rule.TokenBucket(rate), rule.FixedWindow(rate), rule.SlidingWindow(rate)}
	if rate.Count <= 10_000 {
		limits = append(limits, rule.SlidingLog(rate))
	}
	return limits
}

// rate returns the rate over a window that well-behaved keys need, with headroom for busier days.
func (f *finder) rate(w int) engine.Rate {
	return rule.Per(roundUp(headroom(f.mostUpTo(w, f.options.Deny))), Windows[w].Length)
}

// mostUpTo returns the smallest n such that at most the given share of the well-behaved keys exceed n requests in a
// window.
func (f *finder) mostUpTo(w int, share float64) int64 {
	values := make([]int64, len(f.behaved))
	for n, key := range f.behaved {
		values[n] = f.all[key].most[w]
	}
	return upTo(values, share)
}

// evaluate returns the effect that a limit would have had on the log's requests, without any other limit.
func (f *finder) evaluate(limit engine.Limit) Compared {
	c := Compared{limit: limit, Limit: limit.String(), Algorithm: limit.Algorithm().String(), Bytes: bytesPerKey(limit)}
	c.Outliers = f.deniedShare(limit)
	parts := make([]Compared, cores())
	parallel(len(f.behaved), func(part, from, to int) { f.count(&parts[part], limit, f.behaved[from:to]) })
	for i := range parts {
		p := &parts[i]
		c.Behaved += p.Behaved
		c.BehavedRequests += p.BehavedRequests
	}
	return c
}

// count adds a limit's effect on the given keys to c, except for the outliers' share. A key is an outlier among the
// well-behaved only if all keys are outliers.
func (f *finder) count(c *Compared, limit engine.Limit, keys []int) {
	for _, key := range keys {
		if n := denied(limit, f.groups.of(key)); n > 0 && f.all[key].class != outlier {
			c.Behaved++
			c.BehavedRequests += n
		}
	}
}

// bytesPerKey returns the approximate memory per key: see docs/reference/running.md.
func bytesPerKey(limit engine.Limit) int64 {
	n := limit.Numbers()
	switch {
	case n.Algorithm.KeepsTimes():
		return 250 + 16*n.Count/2
	case n.Segment > 0:
		return 250 + 16*(n.Period/max(n.Segment, 1)+1)
	default:
		return 42
	}
}
