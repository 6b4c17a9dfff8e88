package suggest

import (
	"cmp"
	"slices"
)

// These constants define how keys are classified: see docs/reference/replay.md.
const (
	// fewestKeys is the minimum number of keys for finding outliers. If there are fewer keys, none is an outlier.
	fewestKeys = 10
	// gap is the minimum ratio of an outlier's requests to the next key's.
	gap = 3
	// atLeast is the minimum number of requests of an outlier in a window. The outlier must send them in at least
	// atLeastMinutes different minutes or atLeastSeconds different seconds. A single short burst therefore does not
	// make a key an outlier. The exception is a burst that is hugeGap times as large as the next key's.
	atLeast        = 20
	atLeastMinutes = 3
	atLeastSeconds = 30
	hugeGap        = 30
	// outlierShare is the maximum share of keys that can be outliers, but outlierCount keys always can. If more keys
	// behave in the same way, they count as normal. The share can be up to wideShare if these keys send wideGap times
	// as much as the next key.
	outlierShare = 0.01
	outlierCount = 3
	wideShare    = 0.05
	wideGap      = 10
	// tailShare and tailLeast define the tail of the regular keys, which send at least atLeast requests in a day. A
	// key beyond the tail is an outlier even without a gap. For example, a series of keys has no gap if each key sends
	// twice as much as the one before. The tail bounds how much traffic such a series can hide.
	tailShare = 0.1
	tailLeast = 3
)

// classify finds the outliers.
func classify(all []profile) {
	if len(all) < fewestKeys {
		return
	}
	for w := range Windows {
		for _, i := range beyondTail(all, w) {
			all[i].outlier = true
		}
	}
	for _, w := range longer {
		for _, i := range standOut(all, w) {
			all[i].outlier, all[i].alone = true, true
		}
	}
}

// beyondTail returns the keys beyond the tail of the regular keys in a window. For a key that sends only for a moment,
// such as a nightly export, the bound is three times as high.
func beyondTail(all []profile, w int) (keys []int) {
	bound, ok := tail(all, w)
	if !ok {
		return nil
	}
	for i := range all {
		if n := float64(all[i].most[w]); n >= atLeast && n > bound && (all[i].lasts() || n > gap*bound) {
			keys = append(keys, i)
		}
	}
	return keys
}

// standOut returns the keys above the widest gap between the highest values in a window.
func standOut(all []profile, w int) (keys []int) {
	value := func(i int) float64 { return float64(all[i].most[w]) }
	few := max(outlierCount, int(outlierShare*float64(len(all))))
	order := highest(len(all), max(few, int(wideShare*float64(len(all))))+1, value)
	cut, widest := 0, float64(gap)
	for i := range len(order) - 1 {
		ratio := value(order[i]) / max(value(order[i+1]), 1)
		if ratio >= widest && (i < few || ratio >= wideGap) {
			cut, widest = i+1, ratio
		}
	}
	for _, i := range order[:cut] {
		if all[i].most[w] >= atLeast && (all[i].lasts() || value(i) >= hugeGap*value(order[cut])) {
			keys = append(keys, i)
		}
	}
	return keys
}

// tail returns the value in a window that regular keys are not expected to exceed: their 90th percentile, times the
// square of its ratio to the median. Requests per key are roughly log-normal, so one regular key in 16 000 exceeds
// this value. ok is false if there are too few regular keys.
func tail(all []profile, w int) (bound float64, ok bool) {
	var values []int64
	for i := range all {
		if all[i].most[inDay] >= atLeast {
			values = append(values, all[i].most[w])
		}
	}
	if len(values) < fewestKeys {
		return 0, false
	}
	high := float64(upTo(values, tailShare))
	ratio := max(high/float64(values[len(values)/2]), tailLeast) // upTo has sorted the values
	return high * ratio * ratio, true
}

// lasts reports whether a key sends for more than a moment.
func (p *profile) lasts() bool { return p.minutes >= atLeastMinutes || p.seconds >= atLeastSeconds }

// highest returns the indices of the n highest values, in descending order of value.
func highest(count, n int, value func(i int) float64) []int {
	places := make([]int, count)
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Or(cmp.Compare(value(b), value(a)), cmp.Compare(a, b)) })
	return places[:min(n, count)]
}
