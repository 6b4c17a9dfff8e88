package llm

import (
	"context"
	"sync"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// named is a policy with one limit.
type named struct {
	policy string
	limit  engine.Limit
}

// charge is one charge of a call.
type charge struct {
	named

	key   string
	units int64
}

func (r named) of(key string, units int64) charge { return charge{r, key, units} }

// process is a limiter that plays the role of a separate process.
type process struct {
	*testing.T
	*headgate.Limiter

	store engine.Store
}

func newProcess(t *testing.T, store engine.Store) process {
	t.Helper()
	l := headgate.New(headgate.WithStore(store))
	t.Cleanup(func() { _ = l.Close() })
	return process{t, l, store}
}

// call reserves a call's charges. If the call is denied, the reservation is nil.
func (p process) call(charges ...charge) (*headgate.Reservation, headgate.Decision) {
	p.Helper()
	list := make([]headgate.Charge, len(charges))
	for i, c := range charges {
		list[i] = headgate.Charge{Policy: p.Limiter.PolicyOf(c.policy, c.limit), Key: c.key, Units: c.units}
	}
	r, d, err := p.ReserveAll(context.Background(), list...)
	if err != nil || (r != nil) != d.Allowed {
		p.Errorf("%v, %+v, %v", r, d, err)
	}
	return r, d
}

// must reserves charges like [process.call], but fails the test if they are denied. It returns the reservation as
// text.
func (p process) must(charges ...charge) string {
	p.Helper()
	r, d := p.call(charges...)
	if r == nil {
		p.Errorf("denied: %+v", d) // not Fatalf, because this runs on other goroutines
		return ""
	}
	return r.String()
}

// commit settles a reservation. It reports whether this commit settled the reservation, and how many units were
// dropped.
func (p process) commit(reservation string, used ...int64) (settled bool, dropped int64) {
	p.Helper()
	held, err := engine.ParseReservation(reservation)
	if err != nil {
		p.Error(err)
		return false, 0
	}
	op := held.SettleEach(func(item int) int64 { return used[item] })
	result := p.Limiter.Core().Decide(context.Background(), op)[0]
	if result.Err != nil {
		p.Error(result.Err)
	}
	return result.Found, result.Dropped
}

// peek returns the decision for a single charge, without charging it.
func (p process) peek(c charge) headgate.Decision {
	p.Helper()
	d, err := p.Limiter.PolicyOf(c.policy, c.limit).Peek(context.Background(), c.key, c.units)
	if err != nil {
		p.Error(err)
	}
	return d
}

// left checks that a key has the wanted number of units left.
func (p process) left(r named, key string, want int64) {
	p.Helper()
	if d := p.peek(r.of(key, 1)); d.Remaining != want {
		p.Errorf("%s of %s: %d left, want %d", r.policy, key, d.Remaining, want)
	}
}

// atOnce runs n calls in parallel, alternating between the two processes.
func (w *world) atOnce(n int, call func(i int, p process)) {
	var all sync.WaitGroup
	for i := range n {
		p := w.a
		if i%2 > 0 {
			p = w.b
		}
		all.Go(func() { call(i, p) })
	}
	all.Wait()
}
