package headgate_test

import (
	"context"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
)

func onClock(t *testing.T) (*headgate.Limiter, *headgatetest.Clock) {
	t.Helper()
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	l := headgate.New(headgate.WithStore(store))
	t.Cleanup(func() { _ = l.Close(); _ = store.Close() })
	return l, clock
}

func reserve(t *testing.T, p *headgate.Policy, n int64, delay time.Duration) *headgate.Reservation {
	t.Helper()
	r, d, err := p.Reserve(context.Background(), "k", n)
	if err != nil || !d.Allowed || d.Delay != delay {
		t.Fatalf("reserve of %d: %+v, %v; want a delay of %s", n, d, err, delay)
	}
	return r
}

func TestX(t *testing.T) {
	l, clock := onClock(t)
	p := l.Policy("p", headgate.TokenBucket(headgate.PerSecond(10), headgate.Burst(1)))
	_ = clock
	reserve(t, p, 1, 0)
	r := reserve(t, p, 1, 100*time.Millisecond)
	reserve(t, p, 1, 200*time.Millisecond)
	if err := r.Cancel(context.Background()); err != nil {
		t.Fatal(err)
	}
	r = reserve(t, p, 1, 300*time.Millisecond)
	again, err := l.Reservation(r.String())
	if err != nil {
		t.Fatal(err)
	}
	again.Cancel(context.Background())
	r.Cancel(context.Background())
	reserve(t, p, 1, 300*time.Millisecond)
}
