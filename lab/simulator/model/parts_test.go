package model

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestEventsHappenInOrder checks that events happen in order of time, and that events with the same time happen in
// the order of their addition.
func TestEventsHappenInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var l loop
	var now int64
	var last event
	added, taken := 0, 0
	for range 20_000 {
		if random.IntN(5) < 3 {
			l.add(now+random.Int64N(50), arrival, 0)
			added++
			continue
		}
		e, ok := l.next()
		if !ok {
			continue
		}
		taken++
		if e.at < now || e.at == last.at && e.order < last.order && taken > 1 {
			t.Fatalf("%+v after %+v", e, last)
		}
		now, last = e.at, e
	}
	if taken < 5000 || added-taken != len(l.heap) {
		t.Errorf("%d added, %d taken, %d left", added, taken, len(l.heap))
	}
}

// TestPauseStopsWork compares Pause.finish with a clock that counts the microseconds outside pauses.
func TestPauseStopsWork(t *testing.T) {
	p := Pause{Every: 10, For: 3}
	for now := range int64(25) {
		for work := int64(1); work < 30; work++ {
			at, left := now, work
			for left > 0 {
				if at%10 >= 3 {
					left--
				}
				at++
			}
			if got := p.finish(now, work); got != at {
				t.Fatalf("%d µs of work from %d: ends at %d, want %d", work, now, got, at)
			}
		}
	}
	if got := (Pause{}).finish(5, 6); got != 11 {
		t.Errorf("without pauses: %d", got)
	}
}

func TestCourses(t *testing.T) {
	steps := reader{Course: Steps(Point{10, 1}, Point{20, 5})}
	for at, want := range []float64{10: 1, 15: 1, 19: 1, 20: 5, 99: 5} {
		if want != 0 && steps.at(int64(at)) != want {
			t.Errorf("step at %d: %v, want %v", at, steps.at(int64(at)), want)
		}
	}
	ramp := reader{Course: Ramp(Point{0, 0}, Point{100, 10}, Point{200, 10})}
	for _, at := range []int64{0, 10, 50, 100, 150, 250} {
		if got, want := ramp.at(at), min(float64(at)/10, 10); got != want {
			t.Errorf("ramp at %d: %v, want %v", at, got, want)
		}
	}
	turns := reader{Course: Alternating(8, 2, 3, 10, 30)}
	for at := range int64(30) {
		want := 2.0
		if at%10 < 3 {
			want = 8
		}
		if got := turns.at(at); got != want {
			t.Errorf("alternating at %d: %v, want %v", at, got, want)
		}
	}
	if got := len(Alternating(1, 0, 1, 2, math.MaxInt64).points); got > maxPoints+1 {
		t.Errorf("%d points", got)
	}
}

// TestQuantiles checks that quantiles are within 1/32 of a sorted list's quantiles, even after a merge.
func TestQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var a, b Histogram
	var all []int64
	for i := range 10_000 {
		us := int64(math.Exp(random.Float64() * 20))
		all = append(all, us)
		if i%2 == 0 {
			a.Add(us)
		} else {
			b.Add(us)
		}
	}
	a.Merge(&b)
	slices.Sort(all)
	for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1} {
		want := all[min(int(q*float64(len(all))), len(all)-1)]
		if got := a.Quantile(q); got > want || float64(got) < float64(want)*(1-1.0/steps) {
			t.Errorf("quantile %v: %d, want %d", q, got, want)
		}
	}
	if (&Histogram{}).Quantile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
	for _, us := range []int64{-1, 0, math.MaxInt64} {
		a.Add(us)
	}
}

// TestMaxMin checks that no share exceeds its demand, that the whole amount is used if there is demand for it, and that
// demands that are not fully met get the largest share.
func TestMaxMin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		demands := make([]float64, 1+random.IntN(8))
		wanted, amount := 0.0, 100*random.Float64()
		for i := range demands {
			demands[i] = float64(random.IntN(60))
			wanted += demands[i]
		}
		fair, sum := MaxMin(demands, amount), 0.0
		for i, x := range fair {
			sum += x
			if x > demands[i] || x < demands[i] && x < slices.Max(fair)-1e-9 {
				t.Fatalf("%v of %v: %v", amount, demands, fair)
			}
		}
		if math.Abs(sum-min(amount, wanted)) > 1e-9 {
			t.Fatalf("%v of %v: %v, sum %v", amount, demands, fair, sum)
		}
	}
}

func TestJain(t *testing.T) {
	one := Tally{Tenants: []Share{{100, 30}, {100, 0}, {100, 0}}}
	if got := one.Jain(); math.Abs(got-1.0/3) > 1e-9 {
		t.Errorf("one of three has all: %v", got)
	}
	fair := Tally{Tenants: []Share{{1000, 45}, {1000, 45}, {10, 10}}}
	if got := fair.Jain(); math.Abs(got-1) > 1e-9 {
		t.Errorf("max-min: %v", got)
	}
}

func TestPausesOfRetries(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	r := Retry{Max: 5, Base: 100, Obeys: true}
	for tries, want := range []int64{1: 100, 2: 200, 3: 400} {
		if got := r.pause(tries, 0, random); tries > 0 && got != want {
			t.Errorf("after %d: %d, want %d", tries, got, want)
		}
	}
	if got := r.pause(1, 999, random); got != 999 {
		t.Errorf("Retry-After of 999: %d", got)
	}
	if got := r.pause(90, 0, random); got != longestPause {
		t.Errorf("after 90: %d, want %d", got, longestPause)
	}
	r.Jitter, r.Obeys = true, false
	for range 1000 {
		if got := r.pause(3, 999, random); got < 0 || got > 400 {
			t.Fatalf("jitter: %d, want 0 to 400", got)
		}
	}
}

// TestConfigsOutOfRange checks that each invalid configuration returns an error with the field's name.
func TestConfigsOutOfRange(t *testing.T) {
	good := func() Config { return plain(1, 1, Service{Mean: 1000}) }
	for word, spoil := range map[string]func(*Config){
		"length":      func(c *Config) { c.Length = 0 },
		"clients":     func(c *Config) { c.Clients = nil },
		"attempts":    func(c *Config) { c.Attempts = MaxAttempts + 1 },
		"tenants":     func(c *Config) { c.Tenants = -1 },
		"queue":       func(c *Config) { c.Server.Queue = maxQueue + 1 },
		"phases":      func(c *Config) { c.Phases = []int64{5} },
		"within":      func(c *Config) { c.Phases = []int64{0, c.Length} },
		"mean":        func(c *Config) { c.Server.Service.Mean = math.NaN() },
		"tenant 3":    func(c *Config) { c.Clients[0].Tenant = 3 },
		"users, want": func(c *Config) { c.Clients[0].Users = -1 },
		"not both":    func(c *Config) { c.Clients[0].Users = 1 },
		"deadline":    func(c *Config) { c.Clients[0].Deadline = 0 },
		"retries":     func(c *Config) { c.Clients[0].Retry.Max = 101 },
	} {
		c := good()
		spoil(&c)
		if _, err := Run(c, newOpen(t)); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
	endless := good()
	endless.Clients[0].Users, endless.Clients[0].Rate, endless.Attempts = 1, Course{}, 1000
	denies := newOpen(t)
	denies.deny = func(int) bool { return true }
	if _, err := Run(endless, denies); !errors.Is(err, errAttempts) || denies.seen > 1001 {
		t.Errorf("a user who does not think: %v after %d attempts", err, denies.seen)
	}
}
