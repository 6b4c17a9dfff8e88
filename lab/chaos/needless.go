package chaos

import (
	"cmp"
	"slices"
	"time"
)

const (
	// recovers is how long after a fault, and after the start, a process may still decide without the store.
	recovers = 5 * time.Second
	// alone and aloneFor are how many answers in a row, and for how long, a process may give without the store
	// although the store is up. On a busy machine, requests do not reach the store in time, and processes need a while
	// to use it again.
	alone    = 10
	aloneFor = 1500 * time.Millisecond
	// longestStall is the longest stall of the machine in a span that is checked.
	longestStall = 250 * time.Millisecond
	// mostStalled is the part of a span, 1/mostStalled, in which the machine may stall if the span is checked.
	mostStalled = 4
)

// needless checks that processes decide without the store only if the store cannot be reached, or has lost data that a
// limit has not recovered from. While one master of a Cluster is down, this applies to the keys of the other masters.
func (f *found) needless(h *happened, answers []answer) {
	byProcess := map[int][]*answer{}
	for i := range answers {
		if a := &answers[i]; !a.listed && a.beyond == 0 && a.sent >= recovers && h.reachable(a) {
			byProcess[a.process] = append(byProcess[a.process], a)
		}
	}
	for process, log := range byProcess {
		slices.SortFunc(log, func(a, b *answer) int { return cmp.Compare(a.sent, b.sent) })
		f.withoutStore(h, process, log)
	}
}

// withoutStore reports the first long run of consecutive answers from one process that the store did not decide.
func (f *found) withoutStore(h *happened, process int, log []*answer) {
	n, first := 0, (*answer)(nil)
	for _, a := range log {
		switch {
		case a.fallback() || slices.Contains(unanswered, a.class):
			if n++; n == 1 {
				first = a
			}
			if n > alone && a.received-first.sent > aloneFor && !h.stalled(first.sent, a.received) {
				_, stalls := h.stallIn(first.sent, a.received)
				f.violatef("needless", "process %d gave %d answers without the store from %s to %s, the last one (%s) for %s %s; faults %q; stalls of the machine: %s in all",
					process, n, seconds(first.sent), seconds(a.received), cmp.Or(a.class, a.mode), a.limit.policy, a.key, h.faultsIn(first.sent, a.received), stalls)
				return
			}
		case a.mode == "exact" || a.mode == "split":
			n = 0
		}
	}
}

// stalled reports whether the machine stalled too long in a span to check what was decided in it.
func (h *happened) stalled(from, to time.Duration) bool {
	largest, sum := h.stallIn(from, to)
	return largest >= longestStall || sum >= (to-from)/mostStalled
}

// reachable reports whether the store can have decided a request: it was up, and the limit had recovered from losses.
func (h *happened) reachable(a *answer) bool {
	reaches := func(s struck) bool {
		return (s.Process < 0 || s.Process == a.process) && s.touches(a.sent-recovers, a.received) && (s.keys == nil || slices.Contains(s.keys, a.key))
	}
	depth := 2*a.limit.span() + notices
	for _, l := range a.limit.also {
		depth = max(depth, 2*l.span()+notices)
	}
	hung := func(s span) bool { return s.touches(a.sent-recovers, a.received) }
	return !slices.ContainsFunc(h.faults, reaches) && !slices.ContainsFunc(h.hangs, hung) && h.lossesIn(a.sent-recovers-depth, a.received) == 0
}

// usedFor is the length of each span that idle checks. In each span a quarter of the pacer's rate must be used, because
// a busy machine can be slow.
const usedFor = 2 * time.Second

// idle checks that callers that leave a pacer's queue do not hold on to units that waiting callers could use.
func (f *found) idle(h *happened, l *limit, log []answer) {
	if len(log) == 0 || log[0].key != leftKey {
		return
	}
	end := log[len(log)-1].sent
	for from := time.Second; from+usedFor < end; from += usedFor / 2 {
		s := span{from, from + usedFor}
		if !h.reachable(&answer{limit: l, key: leftKey, process: waiterProcess, sent: s.from, received: s.to}) || h.stalled(s.from, s.to) {
			continue
		}
		passed := int64(0)
		for i := range log {
			if a := &log[i]; a.allowed && s.from <= a.received && a.received < s.to {
				passed++
			}
		}
		if least := l.gains(l.refill, usedFor) / 4; passed < least {
			f.violatef("idle", "%s: %d callers passed from %s to %s, %d at least are expected, because others always wait", l.policy, passed, seconds(s.from), seconds(s.to), least)
			return
		}
	}
}
