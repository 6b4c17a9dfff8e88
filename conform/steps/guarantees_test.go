package steps

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

// envelope is an independent token bucket for checking a guaranteed rate. It models a class's guarantee or the whole
// limit. Amounts are in millionths of a unit.
type envelope struct{ rate, burst, has int64 }

func newEnvelope(rate, burst int64) envelope {
	return envelope{rate, burst * 1_000_000, burst * 1_000_000}
}

func (e *envelope) pass(us int64) { e.has = min(e.burst, e.has+us*e.rate) }

func (e *envelope) holds(units int64) bool { return e.has >= units*1_000_000 }

func (e *envelope) take(units int64) { e.has -= units * 1_000_000 }

// lender is a guaranteed rate of 7/s in bursts of 6 with three classes. The first class is guaranteed 3/s in bursts of
// 2, the second 2/s in bursts of 1, and the third nothing.
type lender struct {
	ranks [3]engine.Limit
	state algo.State
	now   int64
	// passed holds an envelope for each class, charged only with that class's units. all is charged with the units of
	// all classes.
	passed [3]envelope
	all    envelope
}

func newLender(t *testing.T, guarantees string, settings ...engine.Setting) lender {
	t.Helper()
	l := lender{all: newEnvelope(7, 6), passed: [3]envelope{newEnvelope(3, 2), newEnvelope(2, 1), newEnvelope(0, 0)}}
	for i := range l.ranks {
		all := append([]engine.Setting{rule.Burst(6), {Field: "rank", Units: int64(i + 1)}}, settings...)
		if l.ranks[i] = rule.GuaranteedRate(rule.PerSecond(7), guarantees, all...); l.ranks[i].Err() != nil {
			t.Fatal(l.ranks[i].Err())
		}
	}
	return l
}

// move lets time pass and then sends a request of a class. It reports whether a guaranteed request was denied, and
// whether a request passed although it exceeded the limit.
func (l *lender) move(us int64, class int, units int64) (denied, over bool) {
	l.now += us
	for i := range l.passed {
		l.passed[i].pass(us)
	}
	l.all.pass(us)
	steps := []algo.Step{{Limit: l.ranks[class].Numbers(), Cost: units, State: l.state}}
	allowed := algo.Allow(steps, algo.Instant{Now: l.now, Wall: l.now})
	if steps[0].Write {
		l.state = steps[0].State
	}
	if !allowed {
		return l.passed[class].holds(units), false
	}
	over = !l.all.holds(units)
	l.passed[class].take(units)
	l.all.take(units)
	return false, over
}

var lenders = []struct {
	guarantees string
	settings   []engine.Setting
}{
	{"3:2,2:1,0", nil},
	{"3:2,2:1-5,0-1", nil},
	{"3:2-3,2:1-2,0", nil},
	{"3:2,2:1,0", []engine.Setting{{Field: "lend", Word: "down"}}},
}

// Whatever the other classes do, no class is denied within its guarantee, and all classes together get no more than
// the limit. The test tries every sequence of five moves. A run with six took 13 million moves and found no violation.
func TestGuaranteesAreNeverDenied(t *testing.T) {
	t.Parallel()
	for _, c := range lenders {
		moves := 0
		var try func(l lender, left int)
		try = func(l lender, left int) {
			if left == 0 {
				return
			}
			for class := range 3 {
				for _, units := range []int64{1, 2} {
					for _, us := range []int64{0, 333_334} {
						next := l
						moves++
						if denied, over := next.move(us, class, units); denied || over {
							t.Fatalf("%v: class %d asks for %d: denied within its guarantee %t, above the limit %t", c, class+1, units, denied, over)
						}
						try(next, left-1)
					}
				}
			}
		}
		try(newLender(t, c.guarantees, c.settings...), 5)
		t.Logf("%v: %d moves", c, moves)
	}
}

// TestGuaranteesInLongTraces checks the same properties as TestGuaranteesAreNeverDenied on long random traces, with
// pauses that let buckets refill.
func TestGuaranteesInLongTraces(t *testing.T) {
	t.Parallel()
	for _, c := range lenders {
		for seed := range uint64(20) {
			r, l := rand.New(rand.NewPCG(seed, 1)), newLender(t, c.guarantees, c.settings...)
			for range 5_000 {
				us := []int64{0, 1, 142_858, 333_333, 500_000, 1_000_000}[r.IntN(6)]
				if denied, over := l.move(us, r.IntN(3), 1+r.Int64N(3)); denied || over {
					t.Fatalf("%v, seed %d: denied within a guarantee %t, above the limit %t", c, seed, denied, over)
				}
			}
		}
	}
}

// Lending loses at most 1 % of the rate: together, the classes get all units that they request, or as many as the limit
// allows. Each class sends requests at random instants.
func TestLendingLosesLittle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		guarantees string
		asks       [3]float64 // per second
	}{
		{"700,300,0", [3]float64{300, 5_000, 0}},
		{"700,300,0", [3]float64{900, 5_000, 0}},
		{"700,200,0", [3]float64{100, 100, 5_000}},
		{"700,200,0", [3]float64{690, 150, 5_000}},
		{"400,300,0", [3]float64{800, 100, 50}},
		{"100,100,0", [3]float64{0, 900, 50}},
	} {
		for _, lend := range []string{"all", "down"} {
			passed, asked := lending(t, c.guarantees, lend, c.asks)
			want := min(1000, asked[0]+asked[1]+asked[2])
			got := passed[0] + passed[1] + passed[2]
			t.Logf("%s lend %s, asked %.0f a second: passed %.1f", c.guarantees, lend, asked, passed)
			if got < 0.99*want {
				t.Errorf("%s lend %s, asked %v: %.1f a second pass, want at least 0.99 of %.0f", c.guarantees, lend, c.asks, got, want)
			}
		}
	}
}

// lending returns the units per second that the classes get and request, under a limit of 1000/s in bursts of 200. It
// counts from the third second on, because the bursts are spent in the first two.
func lending(t *testing.T, guarantees, lend string, asks [3]float64) (passed, asked [3]float64) {
	t.Helper()
	const before, seconds = 2, 10
	var ranks [3]engine.Limit
	for i := range ranks {
		ranks[i] = rule.GuaranteedRate(rule.PerSecond(1000), guarantees, rule.Burst(200), engine.Setting{Field: "lend", Word: lend},
			engine.Setting{Field: "rank", Units: int64(i + 1)})
	}
	r, state := rand.New(rand.NewPCG(1, 2)), algo.State{}
	all := asks[0] + asks[1] + asks[2]
	for now := 0.0; now < before+seconds; now += r.ExpFloat64() / all {
		class, at := 0, r.Float64()*all
		for at >= asks[class] && class < 2 {
			at, class = at-asks[class], class+1
		}
		us := int64(now * float64(time.Second/time.Microsecond))
		steps := []algo.Step{{Limit: ranks[class].Numbers(), Cost: 1, State: state}}
		allowed := algo.Allow(steps, algo.Instant{Now: us, Wall: us})
		if allowed {
			state = steps[0].State
		}
		if now >= before {
			asked[class] += 1.0 / seconds
			passed[class] += map[bool]float64{true: 1.0 / seconds}[allowed]
		}
	}
	return passed, asked
}
