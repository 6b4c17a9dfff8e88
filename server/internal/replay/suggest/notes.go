package suggest

import (
	"fmt"
	"math"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
)

// notes returns the assumptions of the suggestion, in whole sentences.
func (f *finder) notes() []string {
	all := []string{"each request is charged one unit: where a route has another cost, multiply the limit by it"}
	if len(f.all) < fewestKeys {
		all = append(all, fmt.Sprintf("no key can stand out among fewer than %d keys: a log with more keys can show more", fewestKeys))
	}
	if text := f.tooFew(); text != "" {
		all = append(all, text)
	}
	if f.set != "" {
		all = append(all, f.set)
	}
	return all
}

// tooFew returns a note if the --deny share is less than one key, so that a single key determines the limit.
func (f *finder) tooFew() string {
	if f.options.Deny <= 0 || f.allowed() > 0 || len(f.behaved) < 2 {
		return ""
	}
	two := highest(len(f.behaved), 2, func(n int) float64 { return float64(f.all[f.behaved[n]].most[inMinute]) })
	first, second := f.behaved[two[0]], f.behaved[two[1]]
	return fmt.Sprintf("--deny %s of %d keys is less than one key: none may be denied anything, so the busiest, %s, sets the limit with %s in a minute, where the next one has %d; --deny %g%% leaves one key out",
		shareText(f.options.Deny), len(f.behaved), engine.Quote(f.texts[first]), format.Counted(f.all[first].most[inMinute], "request"), f.all[second].most[inMinute], f.percent(1))
}

// percent converts a number of keys to a percentage of the well-behaved keys, rounded up to one decimal.
func (f *finder) percent(keys int) float64 {
	return math.Ceil(1000*float64(keys)/float64(len(f.behaved))) / 10
}

// mostOf returns the maximum number of requests from a key that is no outlier in a window.
func (f *finder) mostOf(w int) (most int64) {
	for _, key := range f.behaved {
		most = max(most, f.all[key].most[w])
	}
	return most
}

// allowed returns the number of well-behaved keys that may be denied something.
func (f *finder) allowed() int64 {
	return int64(math.Floor(f.options.Deny * float64(len(f.behaved))))
}

// shareText formats a share from 0 to 1 as a percentage, such as "2.5 %".
func shareText(share float64) string { return fmt.Sprintf("%g %%", share*100) }

// spans are the windows of longer in words.
var spans = [...]string{inMinute: "a minute", inHour: "an hour", inDay: "a day"}

// tooMany returns a note if a group of keys sends far more than the others, but is too large to be outliers or sends
// only for a moment.
func (f *finder) tooMany() string {
	if len(f.all) < fewestKeys {
		return ""
	}
	for _, w := range longer {
		value := func(n int) float64 { return float64(f.all[f.behaved[n]].most[w]) }
		order := highest(len(f.behaved), len(f.behaved)/2+1, value)
		for i := range len(order) - 1 {
			if value(order[i]) < max(atLeast, wideGap*value(order[i+1])) {
				continue
			}
			send, why := "send", fmt.Sprintf("more than %g %% of the keys", 100*wideShare)
			if i == 0 {
				send = "sends"
			}
			if float64(i+1) <= wideShare*float64(len(f.all)) {
				why = "only for a moment"
			}
			return fmt.Sprintf("%d of %d keys %s at least %d times as much in %s as the others, the busiest %s: %s, so they are taken for what your clients do; a limit for the others needs a log without them, or a route of their own",
				i+1, len(f.behaved), send, wideGap, spans[w], engine.Quote(f.texts[f.behaved[order[0]]]), why)
		}
	}
	return ""
}

// fewShare and fewKeys define the number of keys that count as few: the share fewShare of the keys, but at least
// fewKeys. A note is written if so few keys raise the limit by more than the factor mostOften.
const (
	fewShare  = 0.05
	fewKeys   = 3
	mostOften = 2
)

// setBy returns a note if a few keys determine the limit, and without them one that admits far less in a minute or in an
// hour would do.
func (f *finder) setBy(limit engine.Limit) string {
	if len(f.behaved) < fewestKeys {
		return ""
	}
	few := max(fewKeys, int(fewShare*float64(len(f.behaved))))
	needs := f.needs(f.behaved, limit.Rate(0))
	order := highest(len(needs), len(needs), func(n int) float64 { return float64(needs[n]) })
	var rest []int
	for _, n := range order[few:] {
		rest = append(rest, f.behaved[n])
	}
	without := f.bucket(rest)
	similar := func(d time.Duration) bool { return admits(limit, d) <= mostOften*admits(without, d) }
	if similar(time.Minute) && similar(time.Hour) {
		return ""
	}
	return fmt.Sprintf("%d of %d keys set the limit, above all %s: without them %s would do; leave them out of the log if they are not what your clients do, or let --deny %g%% leave them out",
		few, len(f.behaved), engine.Quote(f.texts[f.behaved[order[0]]]), without, f.percent(few))
}
