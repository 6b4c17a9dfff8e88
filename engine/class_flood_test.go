package engine_test

import (
	"math/rand/v2"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/raced"
)

// TestClassUnderFlood simulates two classes on a limit of 1000/s, with requests at random instants. The second class
// floods the limit with 20 000/s. The first class must be denied no more often than docs/fair-shares.md says, and the
// limit must be fully used.
func TestClassUnderFlood(t *testing.T) {
	if raced.On {
		t.Skip("a single goroutine decides, and a shorter run would not show how few requests are denied")
	}
	limit, err := engine.ParseLimit("1000/s burst 200")
	if err != nil {
		t.Fatal(err)
	}
	const seconds = 200.0
	for _, c := range []struct {
		leaves string
		rate   float64 // of the first class
		denied float64
	}{{"10", 300, 0}, {"20", 900, 0.002}} {
		leave, err := engine.ParseLeave(c.leaves)
		if err != nil {
			t.Fatal(err)
		}
		second, err := limit.ForClass(leave)
		if err != nil {
			t.Fatal(err)
		}
		classes := [2]*algo.Limit{limit.Numbers(), second.Numbers()}
		rates, asked, given := [2]float64{c.rate, 20_000}, [2]int{}, [2]int{}
		r, state := rand.New(rand.NewPCG(11, 0)), algo.State{}
		next := [2]float64{r.ExpFloat64() / rates[0], r.ExpFloat64() / rates[1]}
		for min(next[0], next[1]) < seconds {
			class := 0
			if next[1] < next[0] {
				class = 1
			}
			steps := []algo.Step{{Limit: classes[class], Cost: 1, State: state}}
			asked[class]++
			if algo.Allow(steps, algo.Instant{Now: int64(next[class] * 1e6)}) {
				given[class]++
				state = steps[0].State
			}
			next[class] += r.ExpFloat64() / rates[class]
		}
		share, used := 1-float64(given[0])/float64(asked[0]), float64(given[0]+given[1])/seconds/1000
		t.Logf("leaves %s, first class at %.0f/s: %.4f denied, %.4f of the limit used", c.leaves, c.rate, share, used)
		if share > c.denied || used < 0.999 || used > 1+0.2/seconds {
			t.Errorf("leaves %s, first class at %.0f/s: %.4f denied, want %.4f at most; %.4f of the limit used", c.leaves, c.rate, share, c.denied, used)
		}
	}
}
