package suggest

import (
	"fmt"
	"time"
)

// explainShort adds the reasons for the limit for bursts and steady use.
func (f *finder) explainShort(s *Suggestion) {
	rate := s.limit.Rate(0)
	if s.limit.Algorithm().Refills() {
		needed := neededBursts(f.groups, f.behaved, rate, 0)
		s.Why = append(s.Why,
			fmt.Sprintf("A key may send %d requests at once, and %s over time: an empty bucket is full again after %s.", s.Burst, rateWords(rate.Count, rate.Period), spanWords(refill(s.limit))),
			fmt.Sprintf("At this rate the busiest key that behaves needs a burst of %d. Half as much again is left for other days, and the sum is rounded up to a number that is easy to remember.", needed))
	} else {
		s.Why = append(s.Why, fmt.Sprintf("A key may send %s. The busiest key that behaves sends up to %d in %s; half as much again is left for other days.",
			rateWords(rate.Count, rate.Period), f.busiest(rate.Period), spanWords(rate.Period)))
	}
	f.explainOutliers(s)
	s.Why = append(s.Why, whyAlgorithm(s))
}

// explainLong adds the reasons for the limit over an hour or a day.
func (f *finder) explainLong(s *Suggestion, slow []int) {
	rate := s.limit.Rate(0)
	s.Why = append(s.Why, fmt.Sprintf("%s sends too little in a minute for the other limit, and too much in %s: %d requests, where the busiest key that behaves sends %d. Half as much again is left for other days.",
		f.texts[slow[0]], spanWords(rate.Period), f.mostOf(slow[0], rate.Period), f.busiest(rate.Period)))
	f.explainOutliers(s)
	s.Why = append(s.Why, whyAlgorithm(s))
}

// explainOutliers adds a sentence about the limit's effect on the outliers.
func (f *finder) explainOutliers(s *Suggestion) {
	switch n := len(f.outliers); n {
	case 0:
		if f.set != "" {
			s.Why = append(s.Why, "A group of keys sets the limit, as the note says, but no key stands out, so it denies nothing of this log.")
			return
		}
		s.Why = append(s.Why, "No key stands out, so it denies nothing of this log: it is there for the day on which one does.")
	case 1:
		s.Why = append(s.Why, fmt.Sprintf("It denies %.0f %% of the requests of %s, which stands out.", 100*f.deniedShare(s.limit), f.texts[f.outliers[0]]))
	default:
		s.Why = append(s.Why, fmt.Sprintf("It denies %.0f %% of the requests of the %d keys that stand out.", 100*f.deniedShare(s.limit), n))
	}
}

// whyAlgorithm returns the reason for the choice of algorithm.
func whyAlgorithm(s *Suggestion) string {
	switch a := s.limit.Algorithm(); {
	case a.Refills():
		return "A token bucket takes the least memory, about 42 bytes a key, and tells bursts from steady use, as no window does."
	case a.CountsHits():
		return "A fixed window takes about 42 bytes a key. At its edge a key can send twice as much within a short time, which the other limit bounds."
	case a.KeepsTimes():
		return "A sliding log counts exactly, and denies more of what stands out than the others, for more memory."
	default:
		return "A sliding window denies more of what stands out than a token bucket or a fixed window that leaves the other keys alone."
	}
}

// mostOf returns a key's maximum number of requests in a window of the given length.
func (f *finder) mostOf(key int, length time.Duration) int64 {
	for w := range Windows {
		if Windows[w].Length == length {
			return f.all[key].most[w]
		}
	}
	return mostIn(f.groups.of(key), length)
}

// busiest returns the maximum number of requests from a well-behaved key in a window of the given length.
func (f *finder) busiest(length time.Duration) (most int64) {
	for _, key := range f.behaved {
		most = max(most, f.mostOf(key, length))
	}
	return most
}

// rateWords formats a rate, as in "30 a minute".
func rateWords(count int64, period time.Duration) string {
	if period == 10*time.Second {
		return fmt.Sprintf("%d in 10 seconds", count)
	}
	return fmt.Sprintf("%d a %s", count, map[time.Duration]string{
		time.Second: "second", time.Minute: "minute", time.Hour: "hour", 24 * time.Hour: "day",
	}[period])
}

// spanWords formats a duration, as in "a minute" or "40 seconds".
func spanWords(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		one    string
		name   string
	}{{24 * time.Hour, "a day", "days"}, {time.Hour, "an hour", "hours"}, {time.Minute, "a minute", "minutes"}, {time.Second, "a second", "seconds"}} {
		switch n := d / unit.length; {
		case d == unit.length:
			return unit.one
		case n > 0 && (d%unit.length == 0 || n >= 3 || unit.length == time.Second):
			return fmt.Sprintf("%d %s", (d+unit.length/2)/unit.length, unit.name)
		}
	}
	return d.String()
}
