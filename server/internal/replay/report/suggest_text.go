package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/replay/suggest"
)

// suggestionText prints the suggestions with the reasons for them and their effect on the log's requests.
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
	profilesText(l, "stands out", r.Outliers)
	profilesText(l, "shared", r.Shared)
	for i := range r.Busiest {
		k, name := &r.Busiest[i], ""
		if i == 0 {
			name = "busiest"
		}
		l.printf(name, "%s: %s, %s of them denied; %s in its busiest minute", quoted(k.Key), format.Counted(k.Requests, "request"), format.Grouped(k.Denied), format.Grouped(k.MostInMinute()))
	}
	for i := range r.Suggestions {
		limitText(l, &r.Suggestions[i])
	}
	e := &r.Effect
	fmt.Fprintln(w)
	l.printf("together", "of the keys that stand out they deny %s of %s; of the others %s of %s, %s of %s",
		format.Grouped(e.OutlierDenied), format.Counted(e.OutlierRequests, "request"),
		format.Grouped(e.RequestsDenied), format.Counted(e.BehavedRequests, "request"), format.Grouped(e.BehavedDenied), format.Counted(e.Behaved, "key"))
	l.printf("", "the busiest second has %s, and %s without these limits", format.Counted(e.PeakAfter, "request"), format.Grouped(e.PeakBefore))
	l.printf("", "%s", r.Protection)
}

// percentilesText prints a line for each length of window. For each key, it takes the maximum number of requests in
// any window of that length, and prints the percentiles of these numbers over all keys.
func percentilesText(l lines, r *suggest.Result) {
	fmt.Fprintln(l.w)
	fmt.Fprintf(l.w, "%-11s %10s %10s %10s %10s %10s %10s\n", "most in", "half", "90 %", "99 %", "99.9 %", "any key", "all keys")
	for _, p := range r.Percentiles {
		fmt.Fprintf(l.w, "%-11s %10s %10s %10s %10s %10s %10s\n", p.Window, format.Grouped(p.P50), format.Grouped(p.P90), format.Grouped(p.P99), format.Grouped(p.P999), format.Grouped(p.Max), format.Grouped(p.Total))
	}
	fmt.Fprintln(l.w)
}

func profilesText(l lines, name string, all []suggest.KeyProfile) {
	for i := range all {
		k := &all[i]
		l.printf(name, "%s: %s, %s of them denied; %s", quoted(k.Key), format.Counted(k.Requests, "request"), format.Grouped(k.Denied), k.Why)
		l.printf("", "  %s", did(k))
		name = ""
	}
}

// did describes a key's most frequent activity and its time span.
func did(k *suggest.KeyProfile) string {
	var words []string
	if k.Did.Path != "" {
		words = append(words, "mostly "+k.Did.Path)
	}
	if k.Did.Status != 0 {
		words = append(words, fmt.Sprint("status ", k.Did.Status))
	}
	if k.Did.Agent != "" {
		words = append(words, quoted(k.Did.Agent))
	}
	return strings.Join(append(words, "from "+instant(k.From)+" to "+instant(k.To)), ", ")
}

func limitText(l lines, s *suggest.Suggestion) {
	fmt.Fprintln(l.w)
	l.printf("suggestion", "%s: %s", s.Policy, describe(s))
	for _, why := range s.Why {
		l.printf("", "%s", why)
	}
	for _, o := range s.Overrides {
		l.printf("", "%s gets %s: it %s.", quoted(o.Key), o.Limit, o.Why)
	}
	for i := range s.Compared {
		c := &s.Compared[i]
		mark := " "
		if c.Chosen {
			mark = "→"
		}
		l.printf("", "%s %-32s %5.1f %% of what stands out, %s, %d bytes a key", mark, plainLimit(c.Limit), c.Outliers*100, format.Counted(c.Behaved, "other key"), c.Bytes)
	}
}

// describe formats a limit with its algorithm, burst and window.
func describe(s *suggest.Suggestion) string {
	if a, _ := engine.ParseAlgorithm(s.Algorithm); a.Refills() {
		return fmt.Sprintf("token bucket, %s, burst %s", s.Rate, format.Grouped(s.Burst))
	}
	return fmt.Sprintf("%s, %s in %s", strings.ReplaceAll(s.Algorithm, "-", " "), format.Grouped(s.Burst), s.Window)
}

// plainLimit formats a limit with its algorithm, without defaults.
func plainLimit(limit string) string {
	limit = strings.TrimSuffix(limit, " segments 50 strict")
	if limit != "" && '0' <= limit[0] && limit[0] <= '9' {
		return "token-bucket " + limit
	}
	return limit
}
