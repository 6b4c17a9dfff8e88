// Package report presents the results of a replay as text for a terminal.
//
//	text.go          a file's decisions, and two files compared
//	suggest_text.go  a suggested limit
//	numbers.go       human-readable numbers, spans and instants
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/simulate"
	"github.com/headgate/headgate/server/internal/replay/suggest"
)

// Log is a report's data about the log.
type Log struct {
	Formats []string `json:"formats"`
	accesslog.Stats
}

// Result is the result of a replay, of one of three kinds. Its fields are those of --output json.
type Result struct {
	Log        *Log                 `json:"log"`
	Suggest    *suggest.Result      `json:"suggest,omitempty"`
	Result     *simulate.Result     `json:"result,omitempty"`
	Comparison *simulate.Comparison `json:"comparison,omitempty"`
}

// Text prints a result.
func Text(w io.Writer, r *Result) {
	logText(w, r.Log)
	switch {
	case r.Suggest != nil:
		suggestionText(w, r.Suggest)
	case r.Result != nil:
		resultText(w, r.Result)
	default:
		comparisonText(w, r.Comparison)
	}
}

// textColumn is the column of the text, after the names.
const textColumn = 12

// lines writes rows of a name and text, aligned in columns. It removes terminal control characters from every line,
// because reasons and routes contain text from the log.
type lines struct{ w io.Writer }

func (l lines) printf(name, layout string, values ...any) {
	text := fmt.Sprintf("%-*s"+layout, append([]any{textColumn, name}, values...)...)
	fmt.Fprintln(l.w, strings.TrimRight(format.Printable(text), " "))
}

// logText prints statistics about the log.
func logText(w io.Writer, s *Log) {
	l := lines{w}
	for i, f := range s.Formats {
		name := ""
		if i == 0 {
			name = "log"
		}
		l.printf(name, "%s", f)
	}
	l.printf("requests", "%s from %s to %s", format.Grouped(s.Requests), instant(s.First), instant(s.Last))
	for _, note := range notes(s) {
		l.printf("", "%s", note)
	}
	for _, bad := range s.FirstBad {
		l.printf("bad line", "%s:%d: %s", bad.File, bad.Line, bad.Reason)
	}
}

// notes returns notes on requests and lines that were moved or left out while the log was read.
func notes(s *Log) (all []string) {
	if s.Spread {
		all = append(all, "times are whole seconds: the requests of a second are spread evenly over it, in the order of the lines")
	}
	if 10*s.Proxied > s.Requests { // fewer can be clients that send the header themselves
		all = append(all, fmt.Sprintf("%s have X-Forwarded-For or Forwarded from a peer that is no trusted proxy, such as %s, and count for this peer: if it is your proxy, name it in trusted_proxies of the file, or with --trusted-proxies", format.Counted(s.Proxied, "request"), quoted(s.Peer)))
	}
	if s.Late > 0 {
		all = append(all, fmt.Sprintf("%s came far behind later ones, and count at the time that was reached", format.Counted(s.Late, "request")))
	}
	if s.Bad > 0 {
		all = append(all, fmt.Sprintf("%s of %s left out: no request", format.Grouped(s.Bad), format.Counted(s.Lines, "line")+are(s.Bad)))
	}
	return all
}

// are returns " is" for 1 and " are" for any other number, with the leading space.
func are(n int64) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// resultText prints the effect that a policies file would have had.
func resultText(w io.Writer, r *simulate.Result) {
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
			l.printf("", "its permits are not replayed: a log does not contain when its requests ended")
		}
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
		if k.Agent != "" {
			l.printf("", "  User-Agent %s", quoted(k.Agent))
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

// comparisonText prints the differences between two files.
func comparisonText(w io.Writer, r *simulate.Comparison) {
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
		l.printf("request", "%s:%d, %s: %s %s of %s: %s → %s", c.File, c.Line, instant(c.Time), c.Method, c.Path, key, c.Old, c.New)
	}
}
