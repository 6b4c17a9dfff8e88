package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/redisstore"
)

// The waiters are callers in a Go program, which is one more process that uses the store. They wait for units of the
// servers' policies.
const (
	waiterProcess = processCount
	shareCount    = processCount + 1 // number of processes that share the limits
	waitersEach   = 4
	waitsAtMost   = 700 * time.Millisecond // the longest wait for units; half of the callers cancel earlier
)

// waited lists the policies whose units callers wait for.
var waited = []string{"bucket-local", "log-local", "pacer-local"}

// program is a Go program with the same policies as the servers.
type program struct {
	store   open.Opened
	limiter *headgate.Limiter
	limits  map[string]engine.Limit
}

func newProgram(t testing.TB, url string) *program {
	t.Helper()
	store, err := open.Store(context.Background(), url, open.Options{
		StartAway: true, Fallback: &fallback.Config{All: true, Expect: shareCount},
	})
	if err != nil {
		t.Fatal(err)
	}
	config, err := policy.Parse("policies.yaml", []byte(policiesFile(false)))
	if err != nil {
		t.Fatal(err)
	}
	p := &program{store: store, limiter: headgate.New(headgate.WithStore(store)), limits: map[string]engine.Limit{}}
	for _, name := range waited {
		of, _ := config.Policies.Get(name)
		p.limits[name] = of.Charges(nil, "", 1)[0].Limit
	}
	return p
}

// close closes the program. It must be called after the last caller has returned.
func (p *program) close() error { return errors.Join(p.limiter.Close(), p.store.Close()) }

// wait runs the callers of a program until end is called.
func (c *callers) wait(p *program, seed uint64) {
	for i := range c.limits {
		l := &c.limits[i]
		limit, ok := p.limits[l.policy]
		if !ok {
			continue
		}
		at := operate.Policy(p.limiter, l.policy, limit)
		for n := range waitersEach {
			random := rand.New(rand.NewPCG(seed, uint64(waiterProcess*100+10*i+n)))
			c.works.Go(func() {
				for !c.stop.Load() {
					pause(random)
					if a, ok := c.waitFor(random, at, l); ok {
						c.keep(a)
					}
				}
			})
		}
	}
}

// waitFor waits for one unit. ok is false if the caller had to give up without a unit. A denial because the wait
// exceeds the caller's deadline says nothing about the limit.
func (c *callers) waitFor(random *rand.Rand, at *headgate.Policy, l *limit) (a answer, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), waitsAtMost)
	defer cancel()
	if random.IntN(2) == 0 { // the limiter cannot see a deadline in half of the contexts
		var leave context.CancelFunc
		ctx, leave = context.WithCancel(context.WithoutCancel(ctx))
		timer := time.AfterFunc(time.Duration(random.Int64N(int64(waitsAtMost))), leave)
		defer timer.Stop()
		defer leave()
	}
	a = answer{limit: l, key: "k0", process: waiterProcess, sent: c.now()}
	d, err := at.Wait(ctx, a.key)
	a.received = c.now()
	switch {
	case err == nil:
		a.allowed, a.mode, a.overshoot = true, d.Promise.Mode.String(), d.Promise.OvershootMax
		if d.Promise.OvershootMax == engine.Unbounded {
			a.overshoot = -1
		}
	case errors.Is(err, headgate.ErrDenied):
		return a, false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		a.class = "left" // the unit may have been given back or charged
	default:
		a.class = serverClass(err.Error())
		if e, ok := errors.AsType[*redisstore.Error](err); ok { // the error that a server reports to its clients
			a.class = e.Class.String()
		}
	}
	return a, true
}
