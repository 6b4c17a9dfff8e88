package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const second = 1_000_000

// open is a gate that admits everything. It checks that an attempt ends only if it has started.
type open struct {
	t        *testing.T
	flying   map[int32]int64
	most     int
	deny     func(n int) bool
	seen     int
	failures int
}

func (o *open) Allow(now int64, a Attempt) (bool, int64) {
	o.seen++
	if _, twice := o.flying[a.Slot]; twice {
		o.t.Fatalf("slot %d is in flight twice", a.Slot)
	}
	if a.Inflight != len(o.flying)+1 {
		o.t.Fatalf("%d in flight, want %d", a.Inflight, len(o.flying)+1)
	}
	if o.deny != nil && o.deny(o.seen) {
		return false, second
	}
	o.flying[a.Slot] = now
	o.most = max(o.most, len(o.flying))
	return true, 0
}

func (o *open) Done(now int64, s Sample) {
	start, ok := o.flying[s.Slot]
	if !ok || start != s.Start || now-start != s.RTT {
		o.t.Fatalf("end of slot %d at %d: %+v, started %d %v", s.Slot, now, s, start, ok)
	}
	delete(o.flying, s.Slot)
	if s.Left != len(o.flying) {
		o.t.Fatalf("%d left, want %d", s.Left, len(o.flying))
	}
	if s.Failed {
		o.failures++
	}
}

func (o *open) Limit() float64 { return 0 }

func newOpen(t *testing.T) *open { return &open{t: t, flying: map[int32]int64{}} }

func mustRun(t *testing.T, c Config, g Gate) *Tally {
	t.Helper()
	tally, err := Run(c, g)
	if err != nil {
		t.Fatal(err)
	}
	return tally
}

func plain(rate float64, workers int, service Service) Config {
	return Config{
		Seed: 1, Length: 2000 * second,
		Server:  Server{Workers: Constant(float64(workers)), Service: service},
		Clients: []Client{{Rate: Constant(rate), Deadline: 1000 * second}},
	}
}

// TestQueueAsInTheory compares the results with queueing theory: M/M/1 latencies are exponential with mean 1/(μ−λ),
// the wait in M/D/1 is half that in M/M/1, and the number of requests in the server is the rate times the mean latency
// (Little's law).
func TestQueueAsInTheory(t *testing.T) {
	c := plain(80, 1, Service{Shape: Exponential, Mean: 10_000})
	tally := mustRun(t, c, newOpen(t))
	for q, want := range map[float64]float64{0.5: math.Ln2 / 20 * second, 0.9: math.Log(10) / 20 * second, 0.99: math.Log(100) / 20 * second} {
		if got := float64(tally.Latency.Quantile(q)); math.Abs(got/want-1) > 0.08 {
			t.Errorf("M/M/1: quantile %v is %.0f µs, want %.0f", q, got, want)
		}
	}
	inside, ticks := 0.0, 0.0
	for _, m := range tally.Moments {
		inside, ticks = inside+m.Inflight, ticks+float64(m.Ticks)
	}
	if got := inside / ticks; math.Abs(got/4-1) > 0.1 {
		t.Errorf("M/M/1: %.2f in the server, want λ/(μ−λ) = 4", got)
	}
	exact := mustRun(t, plain(80, 1, Service{Shape: Exact, Mean: 10_000}), newOpen(t))
	mean := 0.0
	for i, n := range exact.Latency.counts {
		mean += float64(n) * float64(least(i)) / float64(exact.Latency.total)
	}
	if want := 30_000.0; math.Abs(mean/want-1) > 0.05 {
		t.Errorf("M/D/1: mean %.0f µs, want 10 ms of service and 20 ms of wait", mean)
	}
}

// TestServiceTimesHaveTheirMean checks that the mean of each distribution is the configured one.
func TestServiceTimesHaveTheirMean(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, s := range []Service{
		{Shape: Exact, Mean: 5000},
		{Shape: Exponential, Mean: 5000},
		{Shape: Lognormal, Mean: 5000, Spread: 0.5},
		{Shape: Bimodal, Mean: 5000, Spread: 20, Share: 0.1},
	} {
		sum := 0.0
		for range 200_000 {
			sum += s.Draw(random)
		}
		if got := sum / 200_000; math.Abs(got/5000-1) > 0.02 {
			t.Errorf("shape %d: mean %.0f, want 5000", s.Shape, got)
		}
	}
}

// TestSameSeedSameRun checks that equal seeds produce equal runs, and different seeds produce different runs.
func TestSameSeedSameRun(t *testing.T) {
	c := randomConfig(rand.New(rand.NewPCG(3, 3)))
	c.Seed = 7
	compare := cmpopts.EquateEmpty()
	a, b := mustRun(t, c, newOpen(t)), mustRun(t, c, newOpen(t))
	if diff := cmp.Diff(a, b, compare, cmp.AllowUnexported(Histogram{})); diff != "" {
		t.Error(diff)
	}
	c.Seed = 8
	if other := mustRun(t, c, newOpen(t)); cmp.Equal(a, other, compare, cmp.AllowUnexported(Histogram{})) {
		t.Error("seeds 7 and 8 are the same run")
	}
}

// TestEveryAttemptEndsOnce checks in random runs that each admitted attempt ends exactly once, all calls are counted,
// and no call counts as good twice.
func TestEveryAttemptEndsOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	retried, timeouts := 0, 0
	for i := range 60 {
		c := randomConfig(random)
		g := newOpen(t)
		if i%2 == 0 {
			g.deny = func(n int) bool { return n%3 == 0 }
		}
		tally := mustRun(t, c, g)
		if len(g.flying) != 0 {
			t.Fatalf("run %d: %d attempts never ended", i, len(g.flying))
		}
		sum, offered, good := tally.Sum(), int64(0), int64(0)
		for _, s := range tally.Tenants {
			offered, good = offered+s.Offered, good+s.Good
		}
		if sum.Good > sum.Offered || offered != sum.Offered || good != sum.Good || sum.Wrong > sum.Denied {
			t.Fatalf("run %d: %+v, tenants %d %d", i, sum, offered, good)
		}
		if int64(g.seen) < sum.Offered {
			t.Fatalf("run %d: %d attempts of %d calls", i, g.seen, sum.Offered)
		}
		retried += g.seen - int(sum.Offered)
		timeouts += g.failures
	}
	if retried == 0 || timeouts == 0 {
		t.Errorf("%d retries and %d timeouts: the runs reach too little", retried, timeouts)
	}
}

// randomConfig returns the configuration of a random short run. Each feature is used now and then.
func randomConfig(r *rand.Rand) Config {
	c := Config{
		Seed: r.Uint64(), Length: 20 * second, Tenants: 2, AtClient: r.IntN(2) == 0, Phases: []int64{0, 5 * second},
		Server: Server{
			Workers:    Steps(Point{0, float64(1 + r.IntN(8))}, Point{10 * second, float64(1 + r.IntN(8))}),
			Service:    Service{Shape: Shape(r.IntN(4)), Mean: 50_000, Spread: 2, Share: 0.2},
			Contention: float64(r.IntN(2)) / 50, Queue: 1 + r.IntN(100), CPU: 1, Drops: r.IntN(2) == 0,
		},
	}
	if r.IntN(2) == 0 {
		c.Server.Pause = Pause{Every: second, For: 200_000}
	}
	if r.IntN(2) == 0 {
		c.Server.Slowdown = Ramp(Point{0, 1}, Point{20 * second, 5})
	}
	retry := Retry{Max: r.IntN(4), Base: int64(r.IntN(2)) * 50_000, Jitter: r.IntN(2) == 0, Obeys: r.IntN(2) == 0}
	c.Clients = []Client{
		{Rate: Alternating(100, 20, second, 3*second, 20*second), Deadline: 300_000, Retry: retry},
		{Tenant: 1, Users: 5, Think: 100_000, Deadline: 500_000, Retry: retry},
	}
	return c
}

// TestRetriesAtTheirInstants checks that a denied call is retried Max times, and that the pauses between its attempts
// are exactly those of the client's Retry: Base, then twice Base.
func TestRetriesAtTheirInstants(t *testing.T) {
	c := plain(1, 1, Service{Mean: 1000})
	c.Length = 2 * second
	c.Clients[0].Rate = Steps(Point{0, 0}, Point{second, 1e5}, Point{second + 50, 0}) // a few calls within 50 µs
	c.Clients[0].Retry = Retry{Max: 2, Base: 100_000}
	var at []int64
	g := newOpen(t)
	tally := mustRun(t, c, denying{g, &at})
	calls := int(tally.Sum().Offered)
	if calls == 0 || len(at) != 3*calls || tally.Sum().Denied != int64(len(at)) {
		t.Fatalf("%d calls, %d attempts", calls, len(at))
	}
	for i := range calls {
		if at[calls+i]-at[i] != 100_000 || at[2*calls+i]-at[calls+i] != 200_000 {
			t.Errorf("call %d: attempts at %d, %d and %d", i, at[i], at[calls+i], at[2*calls+i])
		}
	}
}

// TestServerWithoutWorkersEnds checks that requests that are never served do not count as good, and that the run ends.
// Unbounded service times must not make the time go backwards.
func TestServerWithoutWorkersEnds(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"no workers": func(c *Config) { c.Server.Workers = Steps(Point{0, 1}, Point{second, 0}) },
		"slow":       func(c *Config) { c.Server.Slowdown = Steps(Point{0, 1}, Point{second, math.Inf(1)}) },
	} {
		c := plain(50, 1, Service{Shape: Exact, Mean: 1000})
		c.Length, c.Clients[0].Deadline = 4*second, second
		spoil(&c)
		sum := mustRun(t, c, newOpen(t)).Sum()
		if sum.Good < 20 || sum.Good > sum.Offered/2 {
			t.Errorf("%s: %+v, want the calls of the first of four seconds", name, sum)
		}
	}
}

// denying denies everything and records the times.
type denying struct {
	*open

	at *[]int64
}

func (r denying) Allow(now int64, _ Attempt) (bool, int64) {
	*r.at = append(*r.at, now)
	return false, 0
}

// TestRatesOfPhases checks that a Poisson process with a changing rate produces the expected count in each phase. For
// a ramp, the expected count is the count at the mean rate.
func TestRatesOfPhases(t *testing.T) {
	c := plain(1, 100, Service{Shape: Exact, Mean: 1000})
	c.Length, c.Phases = 300*second, []int64{0, 100 * second, 200 * second}
	c.Clients[0].Rate = Steps(Point{0, 100}, Point{100 * second, 0}, Point{200 * second, 400})
	for i, want := range []float64{10_000, 0, 40_000} {
		if got := float64(mustRun(t, c, newOpen(t)).Phases[i].Offered); math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("phase %d: %.0f calls, want %.0f", i, got, want)
		}
	}
	c.Clients[0].Rate = Ramp(Point{0, 0}, Point{300 * second, 200})
	if got := float64(mustRun(t, c, newOpen(t)).Sum().Offered); math.Abs(got-30_000) > 900 {
		t.Errorf("ramp: %.0f calls, want 30 000", got)
	}
}
