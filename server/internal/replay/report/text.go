// Package report presents the results of a replay as text, JSON and HTML.
//
//	text.go          plain text for a terminal
//	suggest_text.go  suggested limits as text
//	numbers.go       human-readable numbers, spans and instants
//	style.go         the style of the HTML file
//	html.go          one HTML file
//	drawings.go      the drawings, made with package chart
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/simulate"
)

// Log is a report's data about the log.
type Log struct {
	Formats []string `json:"formats"`
	accesslog.Stats
}

// TextColumn is the column of the text, after the names.
const TextColumn = 12

// lines writes rows of a name and text, aligned in columns. It removes terminal control characters from every line,
// because reasons and routes contain text from the log.
type lines struct{ w io.Writer }

func (l lines) printf(name, format string, values ...any) {
	text := fmt.Sprintf("%-*s"+format, append([]any{TextColumn, name}, values...)...)
	fmt.Fprintln(l.w, strings.TrimRight(printable(text), " "))
}

// LogText prints statistics about the log.
func LogText(w io.Writer, s *Log) {
	l := lines{w}
	for i, f := range s.Formats {
		name := ""
		if i == 0 {
			name = "log"
		}
		l.printf(name, "%s", printable(f))
	}
	l.printf("requests", "%s from %s to %s", format.Grouped(s.Requests), instant(s.First), instant(s.Last))
	for _, note := range Notes(s) {
		l.printf("", "%s", note)
	}
	for _, bad := range s.FirstBad {
		l.printf("bad line", "%s:%d: %s", printable(bad.File), bad.Line, printable(bad.Reason))
	}
}

// Notes returns notes on requests and lines that were moved or left out while the log was read.
func Notes(s *Log) (notes []string) {
	if s.Spread {
		notes = append(notes, "times are whole seconds: the requests of a second are spread evenly over it, in the order of the lines")
	}
	if s.Late > 0 {
		notes = append(notes, fmt.Sprintf("%s came far behind later ones, and count at the time that was reached", format.Counted(s.Late, "request")))
	}
	if s.Outside > 0 {
		notes = append(notes, fmt.Sprintf("%s left out: outside --from and --until", format.Counted(s.Outside, "request")+are(s.Outside)))
	}
	if s.Bad > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s left out: no request", format.Grouped(s.Bad), format.Counted(s.Lines, "line")+are(s.Bad)))
	}
	return notes
}

// notHeld is the note for a concurrency policy.
const notHeld = "its permits are not replayed: a log does not contain when its requests ended"

// are returns " is" for 1 and " are" for any other number, with the leading space.
func are(n int64) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// ResultText prints the effect that a policies file would have had.
func ResultText(w io.Writer, r *simulate.Result) {
	l := lines{w}
	l.printf("decided by", "%s", r.File)
	l.printf("admitted", "%s, %s", format.Grouped(r.Admitted), percent(r.Admitted, r.Requests))
	l.printf("denied", "%s, %s, of %s among %s", format.Grouped(r.Denied), percent(r.Denied, r.Requests), format.Counted(r.DeniedKeys, "key"), format.Grouped(r.Keys))
	if r.Unmatched > 0 {
		l.printf("no route", "%s pass without a limit", format.Grouped(r.Unmatched))
	}
	if r.OtherKeys > 0 {
		l.printf("", "%s of keys beyond --max-keys are not counted by key", format.Counted(r.OtherKeys, "request"))
	}
	if r.AlreadyDenied > 0 {
		l.printf("", "%s have status 429 in the log: something limited them already", format.Grouped(r.AlreadyDenied))
	}
	if r.Failed > 0 {
		l.printf("failed", "%s have no decision: %s", format.Grouped(r.Failed), r.FirstError)
	}
	if s := r.Longest; s != nil {
		l.printf("longest", "key %s was denied for %s without a break: %s, from %s", quoted(s.Key), span(s.To-s.From), format.Counted(s.Denied, "request"), instant(s.From))
	}
	c := r.Cost
	l.printf("cost", "%s of the store, at most %s in a second; at most %s, about %s in memory or %s in Redis",
		format.Counted(c.Calls, "call"), format.Grouped(c.BusiestSecond), format.Counted(c.PeakStates, "stored state"), size(c.Memory), size(c.Redis))
	routesText(l, r)
	policiesText(l, r)
	keysText(l, r.Top)
}

func routesText(l lines, r *simulate.Result) {
	for i := range r.Routes {
		route := &r.Routes[i]
		more := ""
		if route.NoKey > 0 {
			more += fmt.Sprintf(", %s without a key", format.Grouped(route.NoKey))
		}
		if route.Delayed > 0 {
			more += fmt.Sprintf(", %s delayed", format.Grouped(route.Delayed))
		}
		l.printf(fmt.Sprintf("route %d", route.Index), "%s by %s: %s admitted, %s denied%s", route.Match, route.Keys(),
			format.Grouped(route.Admitted), format.Grouped(route.Denied), more)
	}
}

func policiesText(l lines, r *simulate.Result) {
	for i := range r.Policies {
		p := &r.Policies[i]
		l.printf("policy", "%s (%s): %s, %s denied%s", p.Name, strings.Join(p.Limits, ", "), format.Counted(p.Requests, "request"), format.Grouped(p.Denied), when(p))
		if p.ShadowAsked > 0 {
			l.printf("", "its shadow would have denied %s of %s", format.Grouped(p.ShadowDenied), format.Grouped(p.ShadowAsked))
		}
		if p.NotHeld {
			l.printf("", "%s", notHeld)
		}
		if p.Rates != nil {
			l.printf("", "its rate adapted to the statuses in the log: %s to %s", format.Grouped(p.Rates.Lowest), format.Grouped(p.Rates.Highest))
		}
		for _, a := range p.Alternatives {
			what := "as " + a.Algorithm
			if a.Own {
				what += ", as it is"
			}
			l.printf("", "  %s %-29s %s denied, %s", a.Limit, what, format.Grouped(a.Denied), format.Counted(a.Keys, "key"))
		}
	}
	if len(r.Policies) > 0 {
		l.printf("", "(each limit by itself, with the same numbers, on the requests that came to it)")
	}
}

// when formats the times of a policy's first and last denial. It returns "" for a policy without denials.
func when(p *simulate.PolicyReport) string {
	if p.Denied == 0 {
		return ""
	}
	return fmt.Sprintf(", from %s to %s", instant(p.FirstDenied), instant(p.LastDenied))
}

func keysText(l lines, top []simulate.KeyReport) {
	for i := range top {
		k := &top[i]
		l.printf("key", "%s: %s of %s denied%s", quoted(k.Key), format.Grouped(k.Denied), format.Grouped(k.Requests), by(k.By))
		for _, p := range k.Patterns[:min(len(k.Patterns), 3)] {
			l.printf("", "  %s× %s", format.Grouped(p.Count), printable(p.Pattern))
		}
	}
}

// by formats the names of the policies that denied requests. It returns "" if counts contains none.
func by(counts []simulate.PolicyCount) string {
	var names []string
	for _, c := range counts {
		if c.Policy != "" {
			names = append(names, c.Policy)
		}
	}
	if names == nil {
		return ""
	}
	return ", by " + strings.Join(names, ", ")
}

// ComparisonText prints the differences between two files.
func ComparisonText(w io.Writer, r *simulate.Comparison) {
	l := lines{w}
	l.printf("old", "%s: %s denied", r.Old, format.Grouped(r.OldDenied))
	l.printf("new", "%s: %s denied", r.New, format.Grouped(r.NewDenied))
	l.printf("changed", "%s newly denied, %s newly passed, of %s", format.Grouped(r.Lost), format.Grouped(r.Won), format.Counted(r.Requests, "request"))
	if r.Failed > 0 {
		l.printf("failed", "%s have no decision under one of the files", format.Grouped(r.Failed))
	}
	l.printf("keys", "%s lose, %s win", format.Grouped(r.LosingKeys), format.Grouped(r.WinningKeys))
	if r.Rekeyed > 0 {
		l.printf("", "%s under another key in the old file: the keys below are those of the new one", format.Counted(r.Rekeyed, "request"))
	}
	changes := func(name string, all []simulate.KeyChange) {
		for i := range all {
			k := &all[i]
			l.printf(name, "%s: %s denied under the old file, %s under the new one, of %s", quoted(k.Key), format.Grouped(k.OldDenied), format.Grouped(k.NewDenied), format.Grouped(k.Requests))
		}
	}
	changes("loses", r.Losers)
	changes("wins", r.Winners)
	for _, c := range r.First {
		key := quoted(c.Key)
		if c.OldKey != "" {
			key += ", in the old file of " + quoted(c.OldKey)
		}
		l.printf("request", "%s:%d, %s: %s %s of %s: %s → %s", printable(c.File), c.Line, instant(c.Time), printable(c.Method), printable(c.Path), key, c.Old, c.New)
	}
}
