package suggest

import (
	"fmt"
	"strings"
	"unicode"
)

// PoliciesFile formats the suggestion as a policies file that `headgate check` accepts. The from argument names the
// log on which it is based.
func (r *Result) PoliciesFile(o *Options, from string) string {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	line("# Suggested by headgate replay from %s: %d requests of %d keys.", comment(from), r.Requests, r.Keys)
	line("# On these requests it denies %d. Keys that stand out: %d, other denied keys: %d.", r.OfOutliers.Denied+r.OfOthers.Denied, r.OfOutliers.Keys, r.OfOthers.DeniedKeys)
	for _, note := range r.Notes {
		line("# Note: %s.", comment(note))
	}
	line("policies:")
	for _, why := range r.Suggestion.Why {
		line("  # %s", comment(why))
	}
	line("  %s: {algorithm: token-bucket, rate: %s, burst: %d}", r.Suggestion.Policy, r.Suggestion.Rate, r.Suggestion.Burst)
	b.WriteString(o.routeText(r.Suggestion.Policy))
	return b.String()
}

// comment returns text without the characters that would end a comment.
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// yamlText formats text in double quotes for YAML.
func yamlText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case !unicode.IsPrint(r): // including the characters that YAML treats as line breaks
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
