package gate

import (
	"math"
	"testing"

	"github.com/headgate/headgate/lab/simulator/model"
)

// sample returns a sample of an attempt that had inflight attempts in flight when it was admitted.
func sample(rtt int64, inflight int) model.Sample {
	return model.Sample{Attempt: model.Attempt{Inflight: inflight}, RTT: rtt, Left: inflight - 1}
}

func near(got, want float64) bool { return math.Abs(got-want) < 1e-9*max(1, math.Abs(want)) }

func TestAIMDMoves(t *testing.T) {
	for _, c := range []struct {
		name        string
		limit, want float64
		s           model.Sample
	}{
		{"half used", 40, 41, sample(ms, 20)},
		{"less than half used", 40, 40, sample(ms, 19)},
		{"slow", 40, 36, sample(second, 40)},
		{"failed", 45, 40, model.Sample{Failed: true}},
		{"at the minimum", 20, 20, model.Sample{Failed: true}},
		{"at the maximum", 200, 200, sample(ms, 200)},
	} {
		a := NewAIMD(500 * ms)
		a.limit = c.limit
		a.Observe(0, c.s)
		if a.Limit() != c.want {
			t.Errorf("%s: %v, want %v", c.name, a.Limit(), c.want)
		}
	}
}

// TestVegasMoves uses a limit of 100, where the step is 2. A queue of up to 2 adds 12 to the limit, a queue below 6
// adds 2, and a queue above 12 subtracts 2.
func TestVegasMoves(t *testing.T) {
	for _, c := range []struct {
		rtt      int64
		inflight int
		want     float64
	}{
		{100 * ms, 100, 112}, {102 * ms, 100, 112}, {104 * ms, 100, 102}, {110 * ms, 100, 100}, {120 * ms, 100, 98}, {120 * ms, 49, 100},
	} {
		v := NewVegas(1)
		v.limit, v.base = 100, 100*ms
		v.Observe(0, sample(c.rtt, c.inflight))
		if v.Limit() != c.want {
			t.Errorf("%d µs with %d in flight: %v, want %v", c.rtt, c.inflight, v.Limit(), c.want)
		}
	}
}

// TestVegasTakesTheQueueIntoTheMinimum reproduces Netflix/concurrency-limits#165: after at most 30·limit samples with
// a permanent queue, the minimum latency includes that queue.
func TestVegasTakesTheQueueIntoTheMinimum(t *testing.T) {
	v := NewVegas(1)
	v.Observe(0, sample(100*ms, 20))
	for range 30 * 1000 {
		if v.limit = 20; v.base == 300*ms {
			return
		}
		v.Observe(0, sample(300*ms, 5))
	}
	t.Errorf("the minimum is still %v µs", v.base)
}

// TestGradient2Moves checks that a steady latency raises the limit by the smoothed queue, and that four times the
// latency lowers the limit.
func TestGradient2Moves(t *testing.T) {
	g := NewGradient2()
	now := int64(1)
	g.Observe(now, sample(100*ms, 20)) // opens the first window, so that each call to feed fills one window
	feed := func(rtt int64) float64 {
		before := g.Limit()
		for range 25 {
			now += 40 * ms
			g.Observe(now, sample(rtt, int(g.Limit())))
		}
		return g.Limit() - before
	}
	for range 30 {
		if step := feed(100 * ms); !near(step, 0.8) {
			t.Fatalf("steady: %+v, want +0.8 a window", step)
		}
	}
	if g.Limit() < 30 {
		t.Errorf("30 windows: %v", g.Limit())
	}
	if step := feed(400 * ms); step >= 0 {
		t.Errorf("four times the latency: %+v", step)
	}
}

// TestGradient2FollowsStableTimeouts reproduces Netflix/concurrency-limits#137: if every attempt times out, the latency
// is constant, so the limit reaches its maximum.
func TestGradient2FollowsStableTimeouts(t *testing.T) {
	g := NewGradient2()
	for i := range int64(10_000) {
		g.Observe(i*100*ms, model.Sample{Attempt: model.Attempt{Inflight: int(g.Limit())}, RTT: 5 * second, Failed: true})
	}
	if g.Limit() != g.Max {
		t.Errorf("limit %v, want the maximum of %v", g.Limit(), g.Max)
	}
}

// TestFailsafeBaselineBecomesTheSickLatency reproduces failsafe-go/failsafe-go#127: the baseline adapts to an incident
// within a minute.
func TestFailsafeBaselineBecomesTheSickLatency(t *testing.T) {
	f := NewFailsafe()
	now := int64(1)
	feed := func(seconds, rtt int64) {
		for range seconds * 100 {
			now += 10 * ms
			f.Observe(now, sample(rtt, int(f.Limit())))
		}
	}
	feed(60, 100*ms)
	if !near(f.base.value, 100*ms) {
		t.Fatalf("baseline %v before", f.base.value)
	}
	feed(5, 300*ms)
	if low := f.Limit(); low >= 200 {
		t.Errorf("limit %v after 5 s of the incident", low)
	}
	feed(55, 300*ms)
	if f.base.value < 299*ms {
		t.Errorf("baseline %v µs after a minute, want 300 ms", f.base.value)
	}
}

// TestFailsafeDirections checks that the first condition that is met decides.
func TestFailsafeDirections(t *testing.T) {
	up := []float64{1, 2, 3, 4, 5}
	down := []float64{5, 4, 3, 2, 1}
	flat := []float64{9, 9, 9, 9, 9}
	for _, c := range []struct {
		name            string
		full            bool
		throughput, rtt []float64
		queue, want     float64
	}{
		{"a long queue", false, up, flat, 7, -1},
		{"full, and throughput falls", true, down, flat, 0, -1},
		{"not full, and throughput falls", false, down, flat, 0, 1},
		{"full, throughput flat, latency rises", true, flat, up, 0, -1},
		{"full, throughput rises, latency rises", true, up, up, 0, 1},
		{"a queue in between", true, up, flat, 4, 0},
	} {
		f := NewFailsafe()
		f.full, f.inflights, f.throughputs, f.rtts = c.full, up, c.throughput, c.rtt
		if got := f.direction(c.queue, 1); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSentinelRules(t *testing.T) {
	g := NewSentinel(25, 0.9)
	allow := func(now int64, inflight int) bool {
		ok, _ := g.Allow(now, model.Attempt{Inflight: inflight})
		return ok
	}
	if !allow(0, 1000) || g.Limit() != 0 {
		t.Error("an idle machine denies")
	}
	g.Tick(second, model.Load{Own: 0.1, Host: 0.95})
	if allow(second, 1) {
		t.Error("a busy host does not deny everything")
	}
	for at := int64(2 * second); at < 120*second; at += model.TickEvery {
		g.Tick(at, model.Load{Runnable: 100})
	}
	if want := 100 * (1 - math.Pow(loadDecay, 23)); math.Abs(g.load1-want) > 5 {
		t.Errorf("load average %v after two minutes of 100, want about %v", g.load1, want)
	}
	now := int64(120 * second)
	for i := range 50 {
		g.Done(now, sample(int64(200+i)*ms, 1))
	}
	// 50 attempts in half a second are 100 a second. At 200 ms each, 20 are in flight.
	if !allow(now, 21) || allow(now, 22) {
		t.Error("the capacity is not 20")
	}
}

func TestGoZeroRules(t *testing.T) {
	g := NewGoZero()
	for i := range int64(500) {
		s := sample(100*ms, 40)
		g.Done(i*10*ms, s)
	}
	now := int64(5 * second)
	allow := func(now int64, inflight int) bool {
		ok, _ := g.Allow(now, model.Attempt{Inflight: inflight})
		return ok
	}
	if !allow(now, 1000) {
		t.Error("an idle CPU sheds")
	}
	for range 100 {
		g.Tick(now, model.Load{Own: 0.95})
	}
	// 10 attempts in 100 ms are 100 a second. At 100 ms each, 10 are in flight. At a CPU use of 0.944, the bound is (1
	// − 0.944)/0.1 times as high.
	if want := 10 * (1 - g.cpu) / 0.1; !near(g.bound(now), want) || want > 6 {
		t.Errorf("bound %v, want %v", g.bound(now), want)
	}
	if allow(now, 8) || !allow(now, 5) {
		t.Error("it does not shed above its bound, or it sheds below")
	}
	g.cpu = 0.5
	if allow(now+second/2, 20) {
		t.Error("it forgets at once that the CPU was busy")
	}
	if !allow(now+2*second, 20) {
		t.Error("it sheds although the CPU has been idle for two seconds")
	}
}

func TestStatistics(t *testing.T) {
	if got := correlation([]float64{1, 2, 3}, []float64{2, 4, 6}); !near(got, 1) {
		t.Errorf("of a line: %v", got)
	}
	if got := correlation([]float64{1, 2, 3, 4}, []float64{1, -1, -1, 1}); !near(got, 0) {
		t.Errorf("of a bow: %v", got)
	}
	if got := correlation([]float64{1, 2}, []float64{3, 3}); got != 0 {
		t.Errorf("of a constant: %v", got)
	}
	if got := variation([]float64{1, 3}); !near(got, 0.5) {
		t.Errorf("variation of 1 and 3: %v", got)
	}
	if variation(nil) != 0 || variation([]float64{0, 0}) != 0 {
		t.Error("variation without a mean")
	}
	a := average{age: 3, warm: 2}
	for i, want := range []float64{4, 6, 4} {
		if got := a.add([]float64{4, 8, 2}[i]); !near(got, want) {
			t.Errorf("average after %d values: %v, want %v", i+1, got, want)
		}
	}
}
