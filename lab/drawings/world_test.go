package drawings

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
)

// world is a limiter in virtual time.
type world struct {
	t       *testing.T
	clock   *headgatetest.Clock
	limiter *headgate.Limiter
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: headgatetest.NewClock()}
	store, err := memstore.New(memstore.Config{Clock: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	w.limiter = headgate.New(headgate.WithStore(store))
	t.Cleanup(func() { _ = store.Close() })
	return w
}

// result lists the times of passed and denied requests, relative to the start.
type result struct{ passed, denied []time.Duration }

// decide sends one request at each time, in order. It decides each request under the policy that before returns for
// the request's time.
func (w *world) decide(times []time.Duration, before func(at time.Duration) *headgate.Policy) (r result) {
	w.t.Helper()
	now := time.Duration(0)
	for _, at := range times {
		policy := before(at)
		w.clock.Advance(at - now)
		now = at
		d, err := policy.Allow(w.t.Context(), "key")
		switch {
		case err != nil:
			w.t.Fatal(err)
		case d.Allowed:
			r.passed = append(r.passed, at+d.Delay) // a pacer's caller continues after its delay
		default:
			r.denied = append(r.denied, at)
		}
	}
	return r
}

// most returns the largest number of requests that passed in any time span of the given length.
func (r result) most(span time.Duration) (most int) {
	from := 0
	for to, at := range r.passed {
		for r.passed[from] <= at-span {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// panel counts the requests before the end time, in bars of the given width. A bar that starts at a multiple of 30 s is
// labelled with the time.
func (r result) panel(name string, width, end time.Duration) panel {
	bars := make([]Bar, end/width)
	for i := range bars {
		if at := time.Duration(i) * width; at%(30*time.Second) == 0 {
			bars[i].Label = fmt.Sprintf("%d s", int(at.Seconds()))
		}
	}
	count := func(times []time.Duration, denied int64) {
		for _, at := range times {
			if at < end {
				bars[at/width].Total++
				bars[at/width].Denied += denied
			}
		}
	}
	count(r.passed, 0)
	count(r.denied, 1)
	return panel{Name: name, Bars: bars}
}

// steady appends the times of evenly spaced requests, perSecond of them each second, from second from until just
// before second to.
func steady(times []time.Duration, from, to int, perSecond float64) []time.Duration {
	step := time.Duration(float64(time.Second) / perSecond)
	for at := time.Duration(from) * time.Second; at < time.Duration(to)*time.Second; at += step {
		times = append(times, at)
	}
	return times
}
