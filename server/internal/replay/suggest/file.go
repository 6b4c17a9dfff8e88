package suggest

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/headgate/headgate/engine"
)

// PoliciesFile formats the suggestions as a policies file that `headgate check` accepts. The from argument names the
// log on which they are based.
func (r *Result) PoliciesFile(o *Options, from string) string {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	line("# Suggested by headgate replay from %s: %d requests of %d keys.", comment(from), r.Requests, r.Keys)
	line("# On these requests it denies %d. Keys that stand out: %d, other denied keys: %d.", r.Effect.Denied, r.Effect.Outliers, r.Effect.BehavedDenied)
	for _, note := range r.Notes {
		line("# Note: %s.", comment(note))
	}
	line("policies:")
	var names []string
	overrides := false
	for i := range r.Suggestions {
		s := &r.Suggestions[i]
		for _, why := range s.Why {
			line("  # %s", comment(why))
		}
		line("  %s: {%s}", s.Policy, fields(s.limit, true))
		names = append(names, s.Policy)
		overrides = overrides || len(s.Overrides) > 0
	}
	if overrides {
		line("overrides:")
	}
	for i := range r.Suggestions {
		s := &r.Suggestions[i]
		for _, over := range s.Overrides {
			line("  # %s", comment(over.Why))
			line("  - {policy: %s, key: %s, set: {%s}}", s.Policy, yamlText(over.Key), fields(over.limit, false))
		}
	}
	b.WriteString(o.routeText(names))
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

// fields formats a limit's fields. It includes the algorithm if whole is true, as needed for a policy.
func fields(limit engine.Limit, whole bool) string {
	rate := limit.Rate(0)
	var texts []string
	if whole {
		texts = append(texts, "algorithm: "+limit.Algorithm().String())
	}
	if limit.Algorithm().Refills() {
		return strings.Join(append(texts, "rate: "+rate.String(), fmt.Sprintf("burst: %d", limit.Capacity())), ", ")
	}
	texts = append(texts, fmt.Sprintf("limit: %d", rate.Count))
	if whole {
		texts = append(texts, "window: "+windowText(rate.Period))
	}
	return strings.Join(texts, ", ")
}
