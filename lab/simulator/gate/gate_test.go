package gate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headgate/headgate/lab/simulator/model"
)

const (
	ms     = 1000
	second = 1_000_000
)

// traffic sends random attempts to a gate, with durations from the function rtt, and returns the maximum number in
// flight.
func traffic(g model.Gate, attempts int, rtt func(i int) int64) (most int) {
	random := rand.New(rand.NewPCG(1, 1))
	var open []model.Sample
	slots := int32(0)
	for i := range attempts {
		now := int64(i) * 5 * ms
		for at := 0; at < len(open); {
			if s := open[at]; s.Start+s.RTT <= now {
				open[at] = open[len(open)-1]
				open = open[:len(open)-1]
				s.Left = len(open)
				g.Done(s.Start+s.RTT, s)
			} else {
				at++
			}
		}
		slots++
		a := model.Attempt{Slot: slots % 2000, Inflight: len(open) + 1, Tenant: random.IntN(3)}
		if ok, _ := g.Allow(now, a); ok {
			open = append(open, model.Sample{Attempt: a, Start: now, RTT: rtt(i), Failed: random.IntN(50) == 0})
			most = max(most, len(open))
		}
	}
	return most
}

// TestFixedBoundsAttempts checks that Headgate's permits never exceed the limit, and that all are used.
func TestFixedBoundsAttempts(t *testing.T) {
	for _, n := range []int64{1, 7, 40} {
		g, err := NewFixed(n)
		if err != nil {
			t.Fatal(err)
		}
		if most := traffic(g, 5000, func(int) int64 { return second }); most != int(n) || g.Limit() != float64(n) {
			t.Errorf("%d permits: %d in flight", n, most)
		}
	}
	g, err := NewFixed(2)
	if err != nil {
		t.Fatal(err)
	}
	for slot, want := range []bool{true, true, false} {
		if ok, _ := g.Allow(1, model.Attempt{Slot: int32(slot)}); ok != want {
			t.Errorf("slot %d: %v, want %v", slot, ok, want)
		}
	}
	g.Done(2, model.Sample{Attempt: model.Attempt{Slot: 0}})
	if ok, _ := g.Allow(2, model.Attempt{Slot: 2}); !ok {
		t.Error("a permit that was released is not free")
	}
	if _, err := NewFixed(0); err == nil {
		t.Error("a limit of 0 was built")
	}
}

// TestBucketKeepsItsPromise checks that the burst passes immediately, that further attempts pass at the rate, and that
// a denied attempt passes exactly after its wait.
func TestBucketKeepsItsPromise(t *testing.T) {
	b, err := NewBucket("100/s burst 20", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	passed, now := 0, int64(0)
	var wait int64
	for range 50 {
		ok, w := b.Allow(now, model.Attempt{})
		if ok {
			passed++
		}
		wait = w
	}
	if passed != 20 || wait != 10*ms {
		t.Fatalf("%d passed at once, then a wait of %d µs; want 20 and 10 ms", passed, wait)
	}
	if ok, _ := b.Allow(wait-1, model.Attempt{}); ok {
		t.Error("it passes before its wait is over")
	}
	if ok, _ := b.Allow(wait, model.Attempt{}); !ok {
		t.Error("it does not pass after its wait")
	}
	if _, err := NewBucket("100/s", "nonsense", 1); err == nil {
		t.Error("a wrong limit was built")
	}
}

// TestTenantsAreChargedTogether checks that a tenant above its own limit does not take units from the pool.
func TestTenantsAreChargedTogether(t *testing.T) {
	b, err := NewBucket("100/s burst 20", "1/s burst 5", 2)
	if err != nil {
		t.Fatal(err)
	}
	var passed [2]int
	for i := range 100 {
		tenant := 0
		if i >= 60 {
			tenant = 1
		}
		if ok, _ := b.Allow(0, model.Attempt{Tenant: tenant}); ok {
			passed[tenant]++
		}
	}
	if passed != [2]int{5, 5} {
		t.Errorf("passed %v, want 5 of each", passed)
	}
}

// TestControllersStayInBounds checks that limits are finite and within their bounds, for random latencies.
func TestControllersStayInBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for name, c := range map[string]Controller{"AIMD": NewAIMD(500 * ms), "Vegas": NewVegas(1), "Gradient2": NewGradient2(), "failsafe-go": NewFailsafe()} {
		low, high := math.Inf(1), 0.0
		scale := 1.0
		traffic(NewAdaptive(c), 200_000, func(i int) int64 {
			if i%500 == 0 {
				scale = math.Exp(random.Float64() * 14)
			}
			low, high = min(low, c.Limit()), max(high, c.Limit())
			return 1 + int64(scale*random.ExpFloat64())
		})
		if !(low >= 1 && high <= 1000) || low == high {
			t.Errorf("%s: limits from %v to %v", name, low, high)
		}
	}
}

// TestAdaptiveAdmitsUpToTheLimit checks that the gate uses the current limit.
func TestAdaptiveAdmitsUpToTheLimit(t *testing.T) {
	g := NewAdaptive(&AIMD{limit: 3})
	for inflight, want := range []bool{1: true, 2: true, 3: true, 4: false} {
		if ok, _ := g.Allow(0, model.Attempt{Inflight: inflight}); inflight > 0 && ok != want {
			t.Errorf("%d in flight: %v", inflight, ok)
		}
	}
}

// TestFleetSeparatesGates checks that each gate of a fleet counts its own attempts.
func TestFleetSeparatesGates(t *testing.T) {
	f := NewFleet([]model.Gate{NewAdaptive(&AIMD{limit: 2, Min: 1, Max: 9}), NewAdaptive(&AIMD{limit: 5, Min: 1, Max: 9})})
	passed := [2]int{}
	for i := range int32(20) {
		if ok, _ := f.Allow(0, model.Attempt{Slot: i, Tenant: int(i) % 2, Inflight: int(i) + 1}); ok {
			passed[i%2]++
		}
	}
	if passed != [2]int{2, 5} || f.Limit() != 7 {
		t.Errorf("passed %v with limits of 2 and 5, sum %v", passed, f.Limit())
	}
	f.Done(1, model.Sample{Attempt: model.Attempt{Slot: 0, Inflight: 99}, RTT: 1})
	if f.inflight[0] != 1 || f.inflight[1] != 5 {
		t.Errorf("in flight: %v, want 1 and 5", f.inflight)
	}
}
