package suggest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/headgate/headgate/internal/format"
)

// notes returns the assumptions behind the suggestions.
func (f *finder) notes() []string {
	all := []string{"each request is charged one unit: where a route has another cost, multiply the limit by it"}
	if len(f.all) < fewestKeys {
		all = append(all, fmt.Sprintf("no key can stand out among fewer than %d keys: a log with more of them says more", fewestKeys))
	}
	if text := f.tooFew(); text != "" {
		all = append(all, text)
	}
	if text := cmp.Or(f.tooMany(), f.setBy()); text != "" {
		f.fewSet = true
		all = append(all, text)
	}
	return all
}

// tooFew notes that the share of --deny is less than one key, so that a single key determines the limit.
func (f *finder) tooFew() string {
	if f.options.Deny <= 0 || f.allowed() > 0 || len(f.behaved) < 2 {
		return ""
	}
	two := highest(len(f.behaved), 2, func(n int) float64 { return float64(f.all[f.behaved[n]].most[inMinute]) })
	first, second := f.behaved[two[0]], f.behaved[two[1]]
	return fmt.Sprintf("--deny %s of %d keys is less than one key: none may be denied anything, so the busiest, %s, sets the limit with %d requests in a minute, where the next one has %d; --deny %g%% leaves one key out",
		shareText(f.options.Deny), len(f.behaved), format.Quote(f.texts[first]), f.all[first].most[inMinute], f.all[second].most[inMinute], math.Ceil(1000/float64(len(f.behaved)))/10)
}

// tooMany notes that a group of keys sends far more than the others, but is too large to be outliers.
func (f *finder) tooMany() string {
	if len(f.all) < fewestKeys {
		return ""
	}
	for _, w := range []int{inMinute, inHour, inDay} {
		value := func(n int) float64 { return float64(f.all[f.behaved[n]].busiest[w]) }
		order := highest(len(f.behaved), len(f.behaved)/2+1, value)
		for i := range len(order) - 1 {
			if value(order[i]) < max(atLeast, wideGap*value(order[i+1])) {
				continue
			}
			why := fmt.Sprintf("more than %g %% of the keys", 100*wideShare)
			if float64(i+1) <= wideShare*float64(len(f.all)) {
				why = "only for a moment"
			}
			return fmt.Sprintf("%s at least %d times as much in %s as the others, the busiest %s: %s, so they are taken for what your clients do; a limit for the others needs a log without them, or a route of their own",
				ofKeys(i+1, len(f.behaved), "sends", "send"), wideGap, spanWords(Windows[w].Length), format.Quote(f.texts[f.behaved[order[0]]]), why)
		}
	}
	return ""
}

// ofKeys says how many keys of all do something.
func ofKeys(n, all int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d of %d keys %s", n, all, many)
}

// fewShare is the share of keys, at least fewKeys, whose effect on the limit is stated if it is more than mostOften.
const (
	fewShare = 0.05
	fewKeys  = 3
)

// setBy notes that a few keys set the limit: without them a much lower one would do.
func (f *finder) setBy() string {
	few := max(fewKeys, int(fewShare*float64(len(f.behaved))))
	if len(f.behaved) < fewestKeys || few >= len(f.behaved)/2 {
		return ""
	}
	var half [len(Windows)]float64
	for w := range Windows {
		values := make([]int64, len(f.behaved))
		for n, key := range f.behaved {
			values[n] = f.all[key].most[w]
		}
		half[w] = float64(upTo(values, 0.5))
	}
	order := highest(len(f.behaved), few, func(n int) (most float64) {
		for w := range Windows {
			most = max(most, float64(f.all[f.behaved[n]].most[w])/half[w])
		}
		return most
	})
	rest := slices.Clone(f.behaved)
	for _, n := range order {
		rest[n] = -1
	}
	rest = slices.DeleteFunc(rest, func(key int) bool { return key < 0 })
	limit, without := f.lowest(f.behaved), f.lowest(rest)
	if likeLowest(limit, without) {
		return ""
	}
	return fmt.Sprintf("%s the limit, above all %s: without them %s would do; leave them out of the log if they are not what your clients do, or let --deny %g%% leave them out",
		ofKeys(few, len(f.behaved), "sets", "set"), format.Quote(f.texts[f.behaved[order[0]]]), without, math.Ceil(1000*float64(few)/float64(len(f.behaved)))/10)
}
