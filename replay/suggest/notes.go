package suggest

import (
	"fmt"
	"math"

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
	if text := f.tooMany(); text != "" {
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
	value := func(n int) float64 { return float64(f.all[f.behaved[n]].busiest[inMinute]) }
	order := highest(len(f.behaved), len(f.behaved)/2+1, value)
	for i := range len(order) - 1 {
		if value(order[i]) >= max(atLeast, wideGap*value(order[i+1])) {
			return fmt.Sprintf("%d of %d keys send at least %d times as much in a minute as the others, the busiest %s: more than %g %% of the keys, so they are taken for what your clients do; a limit for the others needs a log without them, or a route of their own",
				i+1, len(f.behaved), wideGap, format.Quote(f.texts[f.behaved[order[0]]]), 100*wideShare)
		}
	}
	if value(order[0]) > hugeGap*max(value(order[len(order)-1]), atLeast) {
		return fmt.Sprintf("%s sends over %d times as much in a minute as half of the keys, without a gap to the keys after it, so it sets the limit; for a limit without it, leave it out of the log",
			format.Quote(f.texts[f.behaved[order[0]]]), hugeGap)
	}
	return ""
}
