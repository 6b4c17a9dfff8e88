package suggest

import (
	"fmt"
	"strings"

	"github.com/headgate/headgate/internal/format"
)

// PoliciesFile formats the suggestion as a policies file that `headgate check` accepts. The from argument names the
// log on which it is based.
func (r *Result) PoliciesFile(o *Options, from string) string {
	var b strings.Builder
	line := func(text string, values ...any) { fmt.Fprintf(&b, text+"\n", values...) }
	line("# Suggested by headgate replay from %s: %d requests of %d keys.", format.Printable(from), r.Requests, r.Keys)
	line("# On these requests it denies %d. Keys that stand out: %d, other denied keys: %d.", r.OfOutliers.Denied+r.OfOthers.Denied, r.OfOutliers.Keys, r.OfOthers.DeniedKeys)
	for _, note := range r.Notes {
		line("# Note: %s.", format.Printable(note))
	}
	line("policies:")
	for _, why := range r.Suggestion.Why {
		line("  # %s", format.Printable(why))
	}
	line("  %s: {algorithm: token-bucket, rate: %s, burst: %d}", r.Suggestion.Policy, r.Suggestion.Rate, r.Suggestion.Burst)
	b.WriteString(o.routeText(r.Suggestion.Policy))
	return b.String()
}
