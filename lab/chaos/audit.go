package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// span is a period of time.
type span struct{ from, to time.Duration }

func (s span) touches(from, to time.Duration) bool { return s.from <= to && from <= s.to }

// happened holds the facts about a seed's run that the audit needs.
type happened struct {
	wall   time.Time // wall-clock time at the start of the run
	faults []struck
	// losses lists the spans when the store may have lost data.
	losses []span
	// twice lists the spans when two primaries may answer, because the old primary has not yet learned that there is a
	// new one.
	twice []span
	// emptied lists the losses that left the store without any data.
	emptied []span
	// restarts lists the times when a process restarted, with all units of its shares available.
	restarts []restart
	// stalls lists, in order, the spans when the machine did not run the control goroutine.
	stalls []span
	// hangs lists the spans when a standalone Redis did not answer, with or without a fault, because a slow disk can
	// also block it.
	hangs []span
	// steps lists the steps of Redis's clock in order.
	steps []step
}

// struck is a fault with the times when it really began and ended. primary is the time when the servers had a primary
// again, or 0 if that is unknown.
type struck struct {
	event
	span
	primary time.Duration
	// keys lists the keys that the fault affects; nil means all keys.
	keys []string
}

type restart struct {
	process int
	span
}

// violation is a broken promise: the name of the check that found it, and a description.
type violation struct {
	Rule, Text string
}

func (v violation) String() string { return v.Rule + ": " + v.Text }

// found holds the results of a seed's audit.
type found struct {
	violations []violation
	// excess holds, by fault and mode, the largest number of units beyond a limit and the number that was allowed.
	excess map[cell]excess
}

// cell identifies a row of the table by a fault and the mode of the answers. Fault is "" for spans without a fault.
type cell struct{ Fault, Mode string }

type excess struct {
	Units, Bound int64
	Spans        int    // number of spans checked
	Policy       string // the policy with the largest excess
}

// audit checks the log of answers against the promises.
func audit(h *happened, answers []answer, holds []hold) *found {
	f := &found{excess: map[cell]excess{}}
	type subject struct {
		limit *limit
		key   string
	}
	by, away := map[subject][]answer{}, awayOf(answers)
	for _, a := range answers {
		if a.beyond > 0 && a.allowed && away.at(a.process, a.sent-late, a.received+late) {
			a.allowed, a.class = false, "kept" // the process may have kept the settlement and sent it to the store later
		}
		s := subject{a.limit, a.key}
		by[s] = append(by[s], a)
	}
	for s, log := range by {
		slices.SortFunc(log, func(a, b answer) int { return cmp.Compare(a.sent, b.sent) })
		f.spans(h, s.limit, log)
		for i := range s.limit.also {
			f.spans(h, &s.limit.also[i], log)
		}
		f.denials(h, s.limit, log)
		f.believes(h, s.limit, log)
		f.errors(h, s.limit, log)
		f.idle(h, s.limit, log)
	}
	f.invalid(answers)
	f.needless(h, answers)
	f.permits(h, holds)
	f.deniedPermits(h, holds, away)
	return f
}

// most is the maximum number of violations kept per seed.
const most = 50

func (f *found) violatef(rule, format string, args ...any) {
	if len(f.violations) < most {
		f.violations = append(f.violations, violation{rule, fmt.Sprintf(format, args...)})
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

// lossesIn returns how many times the store may have lost data in a span.
func (h *happened) lossesIn(from, to time.Duration) (n int64) {
	for _, l := range h.losses {
		if l.touches(from, to) {
			n++
		}
	}
	return n
}

// faultsIn returns the names of the faults in a span, or a list of "" if it contains no fault. A fault counts for a second
// longer, because the processes need time to recover.
func (h *happened) faultsIn(from, to time.Duration) (names []string) {
	for _, s := range h.faults {
		if s.touches(from-time.Second, to) && !slices.Contains(names, s.Fault) {
			names = append(names, s.Fault)
		}
	}
	if names == nil {
		names = []string{""}
	}
	return names
}

const (
	// notices is how long a process may take to detect that the store has lost its data: a few beats.
	notices = 5 * time.Second
	// heard is how long a process must have been in contact with the store to be able to detect a loss.
	heard = 2 * time.Second
)

// believes checks that after the store came back empty, no request was admitted on the basis of the store's state alone
// until the limit had recovered.
func (f *found) believes(h *happened, l *limit, log []answer) {
	if l.failure != "local" || l.period <= notices {
		return
	}
	for _, loss := range h.emptied {
		doubted := span{loss.to + notices, loss.from + l.period - time.Second}
		for i := range log {
			a := &log[i]
			if !a.allowed || a.fallback() || a.beyond > 0 || a.sent < doubted.from || a.received > doubted.to || h.disturbed(a.process, loss, a.received) {
				continue
			}
			f.violatef("believed", "%s %s: process %d answered %q at %s; the store came back empty at %s", l.policy, a.key, a.process, a.mode, seconds(a.sent), seconds(loss.to))
			return
		}
	}
}

// unanswered lists the classes of errors that occur when the store is unreachable, or was unreachable when the process
// started.
var unanswered = []string{"unavailable", "unsent", "outcome_unknown", "cluster_down", "loading", "no_script"}

// spared is the number of a key's requests that may end without a decision. On a busy machine, a request's
// deadline can pass before the request is sent to the store.
const spared = 10

// errors checks that policies with failure mode local always get a decision, whatever happens to the store. Refusals by
// the store, such as of a full one, are allowed: a process that has started during the fault answers with them.
func (f *found) errors(h *happened, l *limit, log []answer) {
	if l.failure != "local" {
		return
	}
	n := 0
	for i := range log {
		a := &log[i]
		if !slices.Contains(unanswered, a.class) {
			continue
		}
		if n++; n > spared {
			f.violatef("answered", "%s %s: %d requests have no answer, that of process %d at %s: %s; faults %q", l.policy, a.key, n, a.process, seconds(a.sent), a.class, h.faultsIn(a.sent, a.received))
			return
		}
	}
}

// invalid checks that the servers understood all requests. A request that they do not understand tests nothing.
func (f *found) invalid(answers []answer) {
	for i := range answers {
		if a := &answers[i]; strings.HasPrefix(a.class, invalid) {
			f.violatef("invalid", "%s %s: process %d answered at %s: %s", a.limit.policy, a.key, a.process, seconds(a.sent), a.class)
		}
	}
}

// disturbed reports whether a process may be unaware of a loss, because it started later or because another fault
// kept it from detecting the loss.
func (h *happened) disturbed(process int, loss span, until time.Duration) bool {
	if h.began(process, loss.from-heard, until) {
		return true
	}
	for _, s := range h.faults {
		if s.Fault != emptied && s.Fault != older && s.Fault != versions && (s.Process == process || s.Process < 0) && s.touches(loss.from-heard, until) {
			return true
		}
	}
	return false
}
