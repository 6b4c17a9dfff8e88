package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
)

// reasons explains the limit in whole sentences.
func (f *finder) reasons(limit engine.Limit) []string {
	rate := limit.Rate(0)
	who := "the busiest of the other keys needs a burst of"
	if n := f.allowed(); n > 0 {
		who = fmt.Sprintf("all of the other keys but %d need a burst of at most", n)
	}
	all := []string{
		fmt.Sprintf("A key may send %d requests at once, and %s over time: an empty bucket is full again after %.0f seconds.", limit.Capacity(), rateWords(rate), refill(limit).Seconds()),
		fmt.Sprintf("At this rate %s %d. Half as much again is left for other days, and the sum is rounded up to a number that is easy to remember.", who, f.neededBursts(f.behaved, rate)),
	}
	switch {
	case len(f.outliers) > 0:
	case f.set != "":
		all = append(all, "A group of keys sets the limit, as the note says, but no key stands out, so it denies nothing of this log.")
	default:
		all = append(all, "No key stands out, so it denies nothing of this log: it is there for the day on which one does.")
	}
	if slow := f.slow(); slow != "" {
		all = append(all, slow)
	}
	return all
}

// slow explains how to stop the outliers of which the limit denies less than half, because they are slow and steady. It
// returns "" if there are none.
func (f *finder) slow() string {
	var keys []int
	for _, key := range f.outliers {
		if p := &f.all[key]; 2*p.denied < p.requests {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	busiest := slices.MaxFunc(keys, func(a, b int) int { return cmp.Compare(f.all[a].requests, f.all[b].requests) })
	names := engine.Quote(f.texts[busiest])
	if n := int64(len(keys) - 1); n > 0 {
		names += " and " + format.Counted(n, "other key")
	}
	most := f.mostOf(inDay)
	return fmt.Sprintf("It denies less than half of the requests of %s: what is slow and steady needs a second limit, for a day. The busiest of the other keys sends %d requests in one; with half as much again, and rounded up, that is %d.",
		names, most, roundUp(headroom(most)))
}

// why explains why a key is an outlier. It returns "" for other keys.
func (p *profile) why() string {
	if !p.outlier {
		return ""
	}
	than := "far more than 90 % of the regular keys"
	if p.alone {
		than = fmt.Sprintf("at least %d times as many as the next key", gap)
	}
	return fmt.Sprintf("%s in its busiest minute, %s in its busiest hour: %s", format.Counted(p.most[inMinute], "request"), format.Grouped(p.most[inHour]), than)
}

// rateWords formats a rate, as in "30 a minute".
func rateWords(rate engine.Rate) string {
	if rate.Period == time.Minute {
		return fmt.Sprintf("%d a minute", rate.Count)
	}
	return fmt.Sprintf("%d a second", rate.Count)
}
