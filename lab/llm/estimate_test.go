package llm

import (
	"context"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
)

// Under 100 tokens a minute, a call with an estimate of 1024 passes, and the second call waits until all units are
// available again. In BerriAI/litellm#29193 the first call is denied.
func estimateAboveTheLimit(w *world) {
	config, err := policy.Parse("policies.yaml", []byte(`
policies:
  requests: {algorithm: fixed-window, limit: 20, window: 1m}
  bucket: {algorithm: token-bucket, rate: 100/1m, estimate_max: capacity}
  window: {algorithm: fixed-window, limit: 100, window: 1m, estimate_max: capacity}
  log: {algorithm: sliding-log, limit: 100, window: 1m, estimate_max: capacity}
`))
	if err != nil {
		w.Fatal(err)
	}
	a, b := filelimit.New(config, w.a.Limiter), filelimit.New(config, w.b.Limiter)
	ask := func(by *filelimit.Limiter, r decide.Request) decide.Response {
		w.Helper()
		var answers [1]decide.Response
		if by.Do(context.Background(), []decide.Request{r}, answers[:]); answers[0].Err != nil {
			w.Fatal(answers[0].Err)
		}
		return answers[0]
	}
	for _, s := range []struct {
		policy     string
		used       int64
		wait, next time.Duration // for the second call, before and after the commit
	}{
		{"bucket", 40, time.Minute, 24 * time.Second},
		{"bucket", 150, time.Minute, 90 * time.Second},
		{"window", 40, time.Minute, time.Minute},
		{"window", 150, time.Minute, time.Minute},
		{"log", 40, time.Minute, time.Minute},
		{"log", 150, time.Minute, time.Minute},
	} {
		call := decide.Request{Kind: engine.OpReserve, Items: []decide.Item{
			{Policy: "requests", Key: "ann"}, {Policy: s.policy, Key: "org", Cost: 1024, HasCost: true},
		}}
		denied := func(wait time.Duration) {
			w.Helper()
			if d := ask(b, call); d.Allowed || d.Policy != s.policy || d.Binds().RetryAfter != wait {
				w.Errorf("%s, %d used: %+v, want a wait of %s", s.policy, s.used, d, wait)
			}
		}
		first := ask(a, call)
		if !first.Allowed || first.Promise.Mode != w.mode {
			w.Fatalf("%s: %+v", s.policy, first.Answer)
		}
		denied(s.wait)
		settle := decide.Request{Kind: engine.OpSettle, Reservation: first.Reservation, Used: []int64{1, s.used}}
		if r := ask(b, settle); !r.Found || r.Dropped != 0 {
			w.Errorf("%s: %+v", s.policy, r)
		}
		denied(s.next)
		d, err := a.Peek(context.Background(), s.policy, "org", 1)
		if left := max(0, 100-s.used); err != nil || d.Remaining != left {
			w.Errorf("%s, %d used: %+v, %v, want %d left", s.policy, s.used, d, err, left)
		}
		w.clock.Advance(s.next - time.Microsecond)
		denied(time.Microsecond)
		w.clock.Advance(time.Microsecond)
		if r := ask(b, call); !r.Allowed {
			w.Errorf("%s, %d used: denied after %s: %+v", s.policy, s.used, s.next, r.Answer)
		}
		w.clock.Advance(3 * time.Minute)
	}
}
