package report

import (
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/replay/chart"
	"github.com/headgate/headgate/server/internal/replay/simulate"
	"github.com/headgate/headgate/server/internal/replay/suggest"
)

// Markdown is a report in Markdown. Its drawings are separate files.
type Markdown struct {
	Text string
	// Drawings maps file names to file contents.
	Drawings map[string]string
}

// markdown writes a report in Markdown.
type markdown struct {
	strings.Builder

	name     string // the report's file name without its extension; prefix of the drawings' names
	drawings map[string]string
}

// NewMarkdown returns a report. name is the name of its file, without the extension.
func NewMarkdown(p *Page, name string) Markdown {
	m := &markdown{name: name, drawings: map[string]string{}}
	m.printf("# %s\n", cell(p.Title))
	m.printf("%s to %s UTC, %s.\n", instant(p.Log.First), instant(p.Log.Last), format.Counted(p.Log.Requests, "request"))
	for _, f := range p.Log.Formats {
		m.printf("- %s", cell(f))
	}
	for _, note := range Notes(p.Log) {
		m.printf("- %s", cell(note))
	}
	switch {
	case p.Suggest != nil:
		m.suggest(p.Suggest)
	case p.Result != nil:
		m.result(p.Result)
	case p.Comparison != nil:
		m.comparison(p.Comparison)
	}
	if p.Config != "" {
		m.printf("\n## The policies file\n\n```yaml\n%s```", strings.ReplaceAll(p.Config, "```", "'''"))
	}
	return Markdown{Text: m.String(), Drawings: m.drawings}
}

func (m *markdown) printf(format string, values ...any) { fmt.Fprintf(m, format+"\n", values...) }

// cell escapes text from the log for a Markdown table, where HTML is markup too.
func cell(text string) string {
	text = html.EscapeString(printable(text))
	for _, special := range `\` + "`*_[]|#~" {
		text = strings.ReplaceAll(text, string(special), fmt.Sprintf("&#%d;", special))
	}
	return text
}

// table writes a table. The first column is text, the others are numbers.
func (m *markdown) table(titles []string, rows [][]string) {
	m.printf("\n| %s |", strings.Join(titles, " | "))
	m.printf("|---%s|", strings.Repeat("|---:", len(titles)-1))
	for _, row := range rows {
		m.printf("| %s |", strings.Join(row, " | "))
	}
}

// draw adds a link to a drawing in a separate file, and the file itself.
func (m *markdown) draw(title, name, svg string) {
	name = m.name + "-" + name + ".svg"
	m.drawings[name] = chart.Standalone(svg)
	m.printf("\n## %s\n\n![%s](%s)", title, title, name)
}

func (m *markdown) pictures(t *simulate.Traffic, h *simulate.Heat, bars []simulate.Bar) {
	m.draw("Traffic over time", "traffic", Traffic(t, location(h.Zone)))
	m.draw("Distribution over keys", "keys", Histogram(bars))
	m.draw("Hours and weekdays", "heat", Heat(h))
}

func (m *markdown) suggest(r *suggest.Result) {
	m.printf("\n## Suggested limits")
	for i := range r.Suggestions {
		s := &r.Suggestions[i]
		m.printf("\n**%s**, policy `%s`\n", describe(s), s.Policy)
		for _, why := range s.Why {
			m.printf("- %s", cell(why))
		}
		for _, o := range s.Overrides {
			m.printf("- %s gets `%s`: it %s.", cell(o.Key), o.Limit, o.Why)
		}
		var rows [][]string
		for _, c := range s.Compared {
			chosen := ""
			if c.Chosen {
				chosen = " (chosen)"
			}
			rows = append(rows, []string{plainLimit(c.Limit) + chosen, fmt.Sprintf("%.1f %%", c.Outliers*100), format.Grouped(c.Behaved), format.Grouped(c.Second), format.Grouped(c.Minute), format.Grouped(c.Bytes)})
		}
		m.table([]string{"limit", "denied of what stands out", "other keys denied", "most in a second", "most in a minute", "bytes a key"}, rows)
	}
	m.printf("")
	for _, note := range r.Notes {
		m.printf("- %s", note)
	}
	for _, p := range r.Protections {
		m.printf("- %s", p)
	}
	var rows [][]string
	for _, p := range r.Percentiles {
		rows = append(rows, []string{p.Window, format.Grouped(p.P50), format.Grouped(p.P90), format.Grouped(p.P99), format.Grouped(p.P999), format.Grouped(p.Behaved), format.Grouped(p.Max), format.Grouped(p.Total)})
	}
	m.printf("\n## What the keys did\n\nThe most requests of a key in any span of a length.")
	m.table([]string{"in any", "half", "90 %", "99 %", "99.9 %", "those that behave", "any key", "all keys together"}, rows)
	rows = nil
	for _, k := range append(r.Outliers, r.Shared...) {
		rows = append(rows, []string{cell(k.Key), format.Grouped(k.Requests), format.Grouped(k.Denied), cell(k.Why + ": " + did(&k))})
	}
	if rows != nil {
		m.printf("\n## Keys to know")
		m.table([]string{"key", "requests", "denied", "why"}, rows)
	}
	rows = nil
	for i := range r.Busiest {
		k := &r.Busiest[i]
		rows = append(rows, []string{cell(k.Key), format.Grouped(k.Requests), format.Grouped(k.Denied), format.Grouped(k.MostInMinute()), cell(did(k))})
	}
	if rows != nil {
		m.printf("\n## The busiest keys")
		m.table([]string{"key", "requests", "denied", "most in a minute", "what it did"}, rows)
	}
	m.pictures(&r.Traffic, &r.Heat, r.Histogram)
}

func (m *markdown) result(r *simulate.Result) {
	m.printf("\n%s of %s denied (%s), %s of %s.", format.Grouped(r.Denied), format.Counted(r.Requests, "request"), percent(r.Denied, r.Requests), format.Grouped(r.DeniedKeys), format.Counted(r.Keys, "key"))
	if s := r.Longest; s != nil {
		m.printf("\nThe longest stretch: %s was denied %s without a break for %s.", cell(s.Key), format.Counted(s.Denied, "request"), span(s.To-s.From))
	}
	m.printf("\nCost: %s of the store, at most %s in a second; about %s in memory or %s in Redis at the peak.",
		format.Counted(r.Cost.Calls, "call"), format.Grouped(r.Cost.BusiestSecond), size(r.Cost.Memory), size(r.Cost.Redis))
	var rows, others, keys, routes [][]string
	for i := range r.Policies {
		p := &r.Policies[i]
		rows = append(rows, []string{cell(p.Name + " (" + strings.Join(p.Limits, ", ") + ")"), format.Grouped(p.Requests), format.Grouped(p.Denied)})
		for _, a := range p.Alternatives {
			others = append(others, []string{cell(p.Name + " as " + a.Algorithm), format.Grouped(a.Denied), format.Grouped(a.Keys)})
		}
	}
	for i := range r.Routes {
		t := &r.Routes[i]
		routes = append(routes, []string{cell(fmt.Sprintf("%d: %s by %s", t.Index, t.Match, t.Keys())), format.Grouped(t.Admitted), format.Grouped(t.Denied)})
	}
	for i := range r.Top {
		k := &r.Top[i]
		patterns := make([]string, 0, len(k.Patterns))
		for _, p := range k.Patterns {
			patterns = append(patterns, cell(p.Pattern))
		}
		keys = append(keys, []string{cell(k.Key), format.Grouped(k.Denied), format.Grouped(k.Requests), strings.Join(patterns, "<br>")})
	}
	m.printf("\n## Policies")
	m.table([]string{"policy", "requests", "denied"}, rows)
	m.printf("\n## The same numbers under other algorithms")
	m.table([]string{"limit", "denied requests", "denied keys"}, others)
	m.printf("\n## Routes")
	m.table([]string{"route", "admitted", "denied"}, routes)
	if keys != nil {
		m.printf("\n## Keys with the most denials")
		m.table([]string{"key", "denied", "requests", "what was denied"}, keys)
	}
	m.pictures(&r.Traffic, &r.Heat, r.Histogram)
}

func (m *markdown) comparison(r *simulate.Comparison) {
	m.printf("\n%s denies %s, %s denies %s: %s newly denied, %s newly passed.", cell(r.Old), format.Grouped(r.OldDenied), cell(r.New), format.Grouped(r.NewDenied), format.Grouped(r.Lost), format.Grouped(r.Won))
	if r.Rekeyed > 0 {
		m.printf("\n%s under another key before: the keys below are those of %s.", format.Counted(r.Rekeyed, "request"), cell(r.New))
	}
	changes := func(title string, all []simulate.KeyChange) {
		if len(all) == 0 {
			return
		}
		var rows [][]string
		for i := range all {
			k := &all[i]
			rows = append(rows, []string{cell(k.Key), format.Grouped(k.Requests), format.Grouped(k.OldDenied), format.Grouped(k.NewDenied)})
		}
		m.printf("\n## %s", title)
		m.table([]string{"key", "requests", "denied before", "denied after"}, rows)
	}
	changes("Keys that lose", r.Losers)
	changes("Keys that win", r.Winners)
	if r.Lost > 0 {
		m.draw("Newly denied over time", "lost", Traffic(&r.LostOver, time.UTC))
	}
	if r.Won > 0 {
		m.draw("Newly passed over time", "won", Traffic(&r.WonOver, time.UTC))
	}
}
