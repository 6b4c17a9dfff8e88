package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/redisstore"
)

// The waiters are callers in a Go program, which is one more process that uses the store. They wait for units of the
// servers' policies.
const (
	waiterProcess = processCount     // the first of the Go programs
	shareCount    = processCount + 2 // number of processes that share the limits
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
	store, err := open.URL(context.Background(), url, open.Options{
		StartAway: true, Fallback: &fallback.Config{Expect: shareCount},
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
		at := p.limiter.PolicyOf(l.policy, limit)
		for n := range waitersEach {
			random := rand.New(rand.NewPCG(seed, uint64(waiterProcess*100+10*i+n)))
			c.works.Go(func() {
				for !c.stop.Load() {
					pause(random)
					ctx, leave := mayLeave(random)
					c.waitFor(ctx, at, l, "k0")
					leave()
				}
			})
		}
	}
}

// mayLeave returns a context that ends after waitsAtMost or, in half of the cases, earlier. The limiter cannot see the
// deadline of the latter.
func mayLeave(random *rand.Rand) (context.Context, context.CancelFunc) {
	if random.IntN(2) == 0 {
		return leaveIn(time.Duration(random.Int64N(int64(waitsAtMost))))
	}
	return context.WithTimeout(context.Background(), waitsAtMost)
}

// leaveIn returns a context that is cancelled after the given time.
func leaveIn(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, leave := context.WithCancel(context.Background())
	timer := time.AfterFunc(d, leave)
	return ctx, func() { timer.Stop(); leave() }
}

// waitFor waits for one unit, and keeps the answer. It keeps no denial, because a denial only says that the wait
// would exceed the caller's deadline.
func (c *callers) waitFor(ctx context.Context, at *headgate.Policy, l *limit, key string) {
	a := answer{limit: l, key: key, process: waiterProcess, sent: c.now()}
	d, err := at.Wait(ctx, key)
	a.received = c.now()
	switch {
	case errors.Is(err, headgate.ErrDenied):
		return
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		a.class = "left" // the unit may have been given back or charged
	default:
		a.decided(&d, err)
	}
	c.keep(a)
}

// decided sets the answer's fields from the decision or the error that a Go program's limiter returned.
func (a *answer) decided(d *headgate.Decision, err error) {
	if err == nil {
		a.allowed, a.mode, a.overshoot = d.Allowed, d.Promise.Mode.String(), d.Promise.OvershootMax
		if d.Promise.OvershootMax == engine.Unbounded {
			a.overshoot = -1
		}
		return
	}
	a.class = serverClass(err.Error())
	if e, ok := errors.AsType[*redisstore.Error](err); ok { // the error that a server reports to its clients
		a.class = e.Class.String()
	}
}
