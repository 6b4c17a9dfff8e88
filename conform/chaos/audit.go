package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// span is a time in which something was so.
type span struct{ from, to time.Duration }

func (s span) touches(from, to time.Duration) bool { return s.from <= to && from <= s.to }

// happened is what a seed did, as the audit has to know it.
type happened struct {
	wall   time.Time // when the seed began, by the clock
	faults []struck
	// losses are when the store may have lost what it was told.
	losses []span
	// emptied are those of the losses after which the store began without any data.
	emptied []span
	// restarts are when a process began anew, with shares of which nothing is spent.
	restarts []restart
	// stalls are the times in which the machine had no time for a goroutine, in their order.
	stalls []span
	// steps are those of the clock of Redis, in their order.
	steps []step
	stale time.Duration // how old a cached denial may be
}

// struck is a fault with the times at which it really began and ended. primary is when the
// servers had a primary again; 0 if that is not known.
type struck struct {
	event
	span
	primary time.Duration
}

type restart struct {
	process int
	span
}

// violation is a broken promise.
type violation struct {
	Rule, Text string
}

func (v violation) String() string { return v.Rule + ": " + v.Text }

// found is what the audit of a seed found.
type found struct {
	violations []violation
	// excess is by how many units a limit was exceeded at most, and bound by how many it
	// could be, by fault and mode.
	excess map[cell]excess
}

// cell is a place in the table. Fault is empty for a span without one.
type cell struct{ Fault, Mode string }

type excess struct {
	Units, Bound int64
	Spans        int    // that were counted
	Policy       string // which was exceeded the most
}

// audit compares the log with what was promised.
func audit(h *happened, answers []answer, holds []hold) *found {
	f := &found{excess: map[cell]excess{}}
	type subject struct {
		limit *limit
		key   string
	}
	by, away := map[subject][]answer{}, awayOf(answers)
	for _, a := range answers {
		if a.beyond > 0 && a.allowed && away.at(a.process, a.sent-late, a.received+late) {
			a.allowed, a.class = false, "kept" // by its process, perhaps: the store gets it later
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
	}
	f.permits(h, holds)
	f.deniedPermits(h, holds, away)
	return f
}

// most is how many violations of a seed are kept.
const most = 50

func (f *found) violatef(rule, format string, args ...any) {
	if len(f.violations) < most {
		f.violations = append(f.violations, violation{rule, fmt.Sprintf(format, args...)})
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

// lossesIn returns how often the store can have lost data in a span.
func (h *happened) lossesIn(from, to time.Duration) (n int64) {
	for _, l := range h.losses {
		if l.touches(from, to) {
			n++
		}
	}
	return n
}

// faultsIn returns the faults of a span; a fault is still one for the time in which the
// processes come back from it.
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
	// notices is how long a process may take until it knows that the store has lost its
	// data: some beats.
	notices = 5 * time.Second
	// heard is how long a process must have heard of the store to know what it lost.
	heard = 2 * time.Second
)

// believes checks that the store's word alone admits no request, after it came back empty, for
// the time in which the limit recovers.
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

// unanswered are the classes of errors of a store that is away, or was when the process began.
var unanswered = []string{"unavailable", "unsent", "outcome_unknown", "cluster_down", "loading", "no_script"}

// spared is how many requests of a key may have no answer: on a busy machine the deadline of a request can
// pass before anybody is asked.
const spared = 10

// errors checks that a policy with failure mode local has an answer, whatever becomes of the store. Errors of
// the operator stay: a full server, a wrong password.
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

// disturbed reports whether a process may not know of a loss: it began later, or another
// fault kept it from noticing.
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
