package chaos

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/headgate/headgate"
)

// Callers whose contexts end must neither keep units nor affect other callers. Their keys are not used by others.
const (
	tardyProcess = waiterProcess + 1 // the Go program whose callers come after their deadline

	leftPolicy, leftKey   = "pacer-local", "left"
	tardyPolicy, tardyKey = "log-local", "tardy"

	leavers      = 4
	leavesWithin = 100 * time.Millisecond
)

// limited returns a policy's limit, as the audit knows it, and the policy of a program with that name.
func (c *callers) limited(p *program, policy string) (*limit, *headgate.Policy) {
	return limitOf(c.limits, policy), p.limiter.PolicyOf(policy, p.limits[policy])
}

// leave runs a caller that waits for its units, and others that leave before, until end is called. Half of the others
// leave while their request is in flight. Because units of callers that left are given back, the pacer is never idle for
// long.
func (c *callers) leave(p *program, seed uint64) {
	l, at := c.limited(p, leftPolicy)
	c.works.Go(func() {
		for !c.stop.Load() {
			ctx, cancel := context.WithTimeout(context.Background(), callerPatience)
			c.waitFor(ctx, at, l, leftKey)
			cancel()
		}
	})
	for n := range leavers {
		random := rand.New(rand.NewPCG(seed, uint64(waiterProcess*100+50+n)))
		within, rest := time.Millisecond, 6*callerPause
		if n%2 == 0 {
			within, rest = leavesWithin, callerPause
		}
		c.works.Go(func() {
			for !c.stop.Load() {
				time.Sleep(time.Duration(random.Int64N(int64(rest))))
				ctx, leave := leaveIn(time.Duration(random.Int64N(int64(within))))
				c.waitFor(ctx, at, l, leftKey)
				leave()
			}
		})
	}
}

// comeLate runs a caller, the only one of its program, whose requests all come after their deadline, until end is called.
// They must get the context's error. Such requests do not show that the store is unavailable, so no share may answer
// them.
func (c *callers) comeLate(p *program) {
	l, at := c.limited(p, tardyPolicy)
	c.works.Go(func() {
		for !c.stop.Load() {
			time.Sleep(3 * callerPause)
			ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
			a := answer{limit: l, key: tardyKey, process: tardyProcess, sent: c.now()}
			d, err := at.Allow(ctx, tardyKey)
			cancel()
			if a.received = c.now(); err == nil {
				a.decided(&d, nil)
				c.keep(a)
			}
		}
	})
}
