package llm

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/internal/rule"
)

// A reservation is charged once, however often it is committed and by whichever process.
func commitsFromTwoProcesses(w *world) {
	for _, tokens := range counted(rule.PerMinute(10_000)) {
		held := w.a.must(requests.of(tokens.policy, 1), tokens.of("org", 4000))
		var settled atomic.Int64
		w.atOnce(20, func(_ int, p process) {
			if done, _ := p.commit(held, 1, 1500); done {
				settled.Add(1)
			}
		})
		// On a Cluster, slots are settled separately, so each of two commits can settle some of the slots.
		if n := settled.Load(); n < 1 || w.mode == 0 && n != 1 {
			w.Errorf("%s: %d commits of one reservation say that they settled it", tokens.policy, n)
		}
		w.b.left(tokens, "org", 8500)

		later := w.a.must(requests.of(tokens.policy, 1), tokens.of("org", 3000))
		w.a = w.restart()
		for i, used := range []int64{1000, 0, 9000} {
			p := []process{w.a, w.b, w.a}[i]
			if done, _ := p.commit(later, 1, used); done != (i == 0) {
				w.Errorf("%s: commit %d: settled=%t", tokens.policy, i, done)
			}
			p.left(tokens, "org", 7500)
			p.left(requests, tokens.policy, 18)
		}
	}
}

// A call that uses 12 times its estimate is charged in full. The next call waits until the excess has drained. At most
// one capacity is charged beyond the limit.
func moreThanTheLimit(w *world) {
	// waits holds the time until a unit passes after 12 000 units were used, and after 20 000, under a limit of 10 000
	// a minute.
	waits := map[string][2]time.Duration{
		"window":   {time.Minute, time.Minute},
		"segments": {61667500 * time.Microsecond, 65000500 * time.Microsecond}, // until 9999 units of the segment are left
		"log":      {time.Minute, time.Minute},
		"bucket":   {12006 * time.Millisecond, 60006 * time.Millisecond},
	}
	for _, s := range counted(rule.PerMinute(10_000)) {
		for i, over := range []struct {
			used, dropped int64
			wait          time.Duration
		}{{12_000, 0, waits[s.policy][0]}, {20_000, 0, waits[s.policy][1]}, {25_000, 5000, waits[s.policy][1]}} {
			user := fmt.Sprint(s.policy, i)
			held := w.a.must(requests.of(user, 1), s.of(user, 1000))
			if done, dropped := w.b.commit(held, 1, over.used); !done || dropped != over.dropped {
				w.Errorf("%s: %d used: settled=%t, %d dropped, want %d", s.policy, over.used, done, dropped, over.dropped)
			}
			r, d := w.a.call(requests.of(user, 1), s.of(user, 1))
			if r != nil || d.Binding.Policy != s.policy || d.RetryAfter != over.wait {
				w.Errorf("%s: %d used: %t, %+v, want a wait of %s", s.policy, over.used, r != nil, d, over.wait)
			}
			w.clock.Advance(over.wait - time.Microsecond)
			if d := w.b.peek(s.of(user, 1)); d.Allowed {
				w.Errorf("%s: %d used: one passes after %s, before %s", s.policy, over.used, over.wait-time.Microsecond, over.wait)
			}
			w.clock.Advance(time.Microsecond)
			if d := w.b.peek(s.of(user, 1)); !d.Allowed {
				w.Errorf("%s: %d used: denied after %s: %+v", s.policy, over.used, over.wait, d)
			}
			w.a.left(requests, user, map[bool]int64{true: 20, false: 19}[over.wait >= time.Minute])
			w.clock.Set(w.clock.Now().Truncate(time.Minute).Add(3 * time.Minute)) // the start of a segment
			w.a.left(s, user, 10_000)
		}
	}
}

// Unused units are given back immediately, and callers in every process can use them. They are never given back to a
// later window.
func lessThanEstimated(w *world) {
	for _, tokens := range counted(rule.PerMinute(10_000)) {
		held := w.a.must(requests.of(tokens.policy, 1), tokens.of("org", 9000))
		if r, _ := w.b.call(requests.of(tokens.policy, 1), tokens.of("org", 4000)); r != nil {
			w.Errorf("%s: 13 000 tokens of 10 000 are reserved", tokens.policy)
		}
		w.a.commit(held, 1, 1500)
		w.b.must(requests.of(tokens.policy, 1), tokens.of("org", 8500))
		if r, _ := w.a.call(requests.of(tokens.policy, 1), tokens.of("org", 1)); r != nil {
			w.Errorf("%s: 10 001 tokens of 10 000 are charged", tokens.policy)
		}
		w.clock.Advance(3 * time.Minute)

		slow := w.a.must(requests.of(tokens.policy, 1), tokens.of("org", 9000))
		w.clock.Advance(3 * time.Minute)
		w.b.must(requests.of(tokens.policy, 1), tokens.of("org", 10_000))
		w.a.commit(slow, 1, 1500)
		w.b.left(tokens, "org", 0)
		w.clock.Advance(3 * time.Minute)
	}
}
