package llm

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

var requests = named{"requests", rule.FixedWindow(rule.PerMinute(20))}

// counted returns policies with the same rate, one for each algorithm that charges units.
func counted(rate engine.Rate) []named {
	return []named{
		{"window", rule.FixedWindow(rate)},
		{"segments", rule.SlidingWindow(rate, rule.Segments(6), rule.Weighted())},
		{"log", rule.SlidingLog(rate)},
		{"bucket", rule.TokenBucket(rate)},
	}
}

// Under 100 tokens a minute, only one of 50 parallel calls with 58 to 175 tokens each passes. BerriAI/litellm#18730
// counted 663.
func parallelCalls(w *world) {
	for _, tokens := range counted(rule.PerMinute(100)) {
		var passed, charged atomic.Int64
		w.atOnce(50, func(i int, p process) {
			estimate := 58 + int64(i)*117/49
			r, d := p.call(requests.of(fmt.Sprint(tokens.policy, " user ", i), 1), tokens.of("org", estimate))
			switch {
			case r != nil:
				passed.Add(1)
				charged.Add(estimate)
				p.commit(r.String(), 1, estimate)
			case d.Binding.Policy != tokens.policy:
				p.Errorf("denied by %+v", d.Binding)
			case (d.RetryAfter == headgate.Never) != (estimate > 100):
				p.Errorf("%d tokens are to be sent again after %s", estimate, d.RetryAfter)
			}
		})
		if passed.Load() != 1 || charged.Load() > 100 {
			w.Errorf("%s: %d calls with %d tokens passed", tokens.policy, passed.Load(), charged.Load())
		}
		w.b.left(tokens, "org", 100-charged.Load())
	}
}

// Fault 1, "check, then count": under a limit of one, only one of the parallel calls passes, and one more each minute.
func limitOfOne(w *world) {
	one := append(counted(rule.PerMinute(1)), named{"calls", rule.Concurrency(1)})
	for minute := range 3 {
		for _, limit := range one {
			var passed atomic.Int64
			w.atOnce(40, func(i int, p process) {
				user := fmt.Sprint(limit.policy, " user ", i)
				r, _ := p.call(requests.of(user, 1), limit.of("org", 1))
				if r != nil {
					passed.Add(1)
				}
				if r == nil { // the units of the first charge are given back
					p.left(requests, user, 20)
				}
			})
			if passed.Load() != 1 {
				w.Errorf("%s, minute %d: %d of 40 parallel calls passed", limit.policy, minute, passed.Load())
			}
		}
		w.clock.Advance(2 * time.Minute)
	}
}

// If the organisation's limit denies a call, the user is not charged, and the decision names the organisation's limit.
func organisationFull(w *world) {
	user := named{"user-tokens", rule.TokenBucket(rule.PerMinute(10_000))}
	for _, org := range counted(rule.PerMinute(50_000)) {
		call := func(p process, name string, tokens int64) (*headgate.Reservation, headgate.Decision) {
			name += " by " + org.policy
			return p.call(requests.of(name, 1), user.of(name, tokens), org.of("acme", tokens))
		}
		for i := range 5 {
			if r, d := call(w.b, fmt.Sprint("user ", i), 10_000); r == nil || d.Promise.Mode != w.mode {
				w.Fatalf("%+v", d)
			}
		}
		r, d := call(w.a, "ann", 4000)
		if r != nil || d.Binding.Policy != org.policy || len(d.Limits) != 3 {
			w.Fatalf("%+v", d)
		}
		w.a.left(requests, "ann by "+org.policy, 20)
		w.b.left(user, "ann by "+org.policy, 10_000)
		w.clock.Advance(d.RetryAfter - time.Microsecond)
		if r, _ := call(w.a, "bob", 4000); r != nil {
			w.Errorf("%s: a call passes before %s", org.policy, d.RetryAfter)
		}
		w.clock.Advance(time.Microsecond)
		if r, again := call(w.a, "ann", 4000); r == nil {
			w.Errorf("%s: after %s: %+v", org.policy, d.RetryAfter, again)
		}
	}
}
