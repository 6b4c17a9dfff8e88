package suggest

import (
	"cmp"
	"slices"
)

// The rules by which keys are set apart. docs/reference/replay.md has them in words.
const (
	// fewestKeys is how many keys there must be, so that one can stand out.
	fewestKeys = 10
	// gap is how many times as much a key that stands out sends as the next one.
	gap = 3
	// atLeast is how many requests it sends in a window at least, and atLeastMinutes in
	// how many minutes, or atLeastSeconds in how many seconds: a short burst alone is none, unless it is
	// hugeGap times as much as the next key sends.
	atLeast        = 20
	atLeastMinutes = 3
	atLeastSeconds = 30
	hugeGap        = 30
	// outlierShare is which share of the keys can stand out, and outlierCount how many in
	// any case. What more keys do is what keys do, up to wideShare of the keys unless they send
	// wideGap times as much as the next one.
	outlierShare = 0.01
	outlierCount = 3
	wideShare    = 0.05
	wideGap      = 10
)

// classify sets keys apart: those that stand out in a minute, an hour or a day, of many people the
// busiest, and those that are many people.
func classify(all []profile) {
	for i := range all {
		all[i].class = behaved
		if all[i].people() > 1 {
			all[i].class = shared
		}
	}
	if len(all) < fewestKeys {
		return
	}
	for _, w := range []int{inMinute, inHour, inDay} {
		for _, i := range standOut(all, w) {
			all[i].class = outlier
		}
	}
}

// standOut returns the keys above the widest gap between the highest values of a window.
func standOut(all []profile, w int) (keys []int) {
	value := func(i int) float64 { return float64(all[i].busiest[w]) }
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
		lasts := all[i].minutes >= atLeastMinutes || all[i].seconds >= atLeastSeconds
		if all[i].most[w] >= atLeast && (lasts || value(i) >= hugeGap*value(order[cut])) {
			keys = append(keys, i)
		}
	}
	return keys
}

// highest returns the places of the n highest of some values, the highest first.
func highest(count, n int, value func(i int) float64) []int {
	places := make([]int, count)
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Or(cmp.Compare(value(b), value(a)), cmp.Compare(a, b)) })
	return places[:min(n, count)]
}
