package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/replay/suggest"
)

// suggestionText prints the suggestion with the reasons for it and its effect on the log's requests.
func suggestionText(w io.Writer, r *suggest.Result) {
	l := lines{w}
	l.printf("keys", "%s by %s, with %s", format.Grouped(r.Keys), strings.Join(r.Key, ", "), format.Counted(r.Requests, "request"))
	if r.NoKey > 0 {
		l.printf("", "%s have no value for the key", format.Counted(r.NoKey, "request"))
	}
	if r.Other > 0 {
		l.printf("", "%s have another path", format.Counted(r.Other, "request"))
	}
	for _, note := range r.Notes {
		l.printf("", "%s", note)
	}
	percentilesText(l, r)
	name := "stands out"
	for i := range r.Outliers {
		k := &r.Outliers[i]
		l.printf(name, "%s: %s, %s of them denied; %s", quoted(k.Key), format.Counted(k.Requests, "request"), format.Grouped(k.Denied), k.Why)
		l.printf("", "  %s, from %s to %s", format.Counted(k.Agents, "User-Agent"), instant(k.From), instant(k.To))
		name = ""
	}
	name = "busiest"
	for i := range r.Busiest {
		k := &r.Busiest[i]
		l.printf(name, "%s: %s, %s of them denied; %s in its busiest minute, %s", quoted(k.Key), format.Counted(k.Requests, "request"), format.Grouped(k.Denied), format.Grouped(k.MostInMinute()), format.Counted(k.Agents, "User-Agent"))
		name = ""
	}
	fmt.Fprintln(w)
	s := &r.Suggestion
	l.printf("suggestion", "%s: token bucket, %s, burst %s", s.Policy, s.Rate, format.Grouped(s.Burst))
	for _, why := range s.Why {
		l.printf("", "%s", why)
	}
	standing, others := &r.OfOutliers, &r.OfOthers
	l.printf("denies", "of what stands out %s of %s; of the others %s of %s, %s of %s",
		format.Grouped(standing.Denied), format.Counted(standing.Requests, "request"),
		format.Grouped(others.Denied), format.Counted(others.Requests, "request"), format.Grouped(others.DeniedKeys), format.Counted(others.Keys, "key"))
}

// percentilesText prints a line for each length of window. For each key, it takes the maximum number of requests in
// any window of that length, and prints the percentiles of these numbers over all keys.
func percentilesText(l lines, r *suggest.Result) {
	fmt.Fprintf(l.w, "\n%-11s %10s %10s %10s %10s %10s\n", "most in", "half", "90 %", "99 %", "99.9 %", "any key")
	for _, p := range r.Percentiles {
		fmt.Fprintf(l.w, "%-11s %10s %10s %10s %10s %10s\n", p.Window, format.Grouped(p.P50), format.Grouped(p.P90), format.Grouped(p.P99), format.Grouped(p.P999), format.Grouped(p.Max))
	}
	fmt.Fprintln(l.w)
}
