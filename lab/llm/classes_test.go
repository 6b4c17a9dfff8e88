package llm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
)

// If batch calls flood a limit at twenty times its rate, interactive calls at nine tenths of the rate are hardly
// ever denied, and batch calls use the rest. docs/reference/limits.md lists the figures. A bucket that is only as large as
// the part that batch calls must leave denies interactive calls as often, even without a flood. Without classes,
// nearly all interactive calls are denied.
func floodedByAClass(w *world) {
	if w.holders != nil { // a second is enough, because Redis decides like the memory store
		for _, leaves := range []int{10, 0} {
			if got, want := floodOf(w, leaves, time.Second), floodOf(inMemory(w.T), leaves, time.Second); got != want {
				w.Errorf("%d %% left: %v passed, and in memory %v", leaves, got, want)
			}
		}
		return
	}
	const lasts = 40 * time.Second
	cases := []struct {
		leaves      int
		least, most float64 // share of interactive calls that are denied
	}{{12, 0, 0.001}, {10, 0, 0.002}, {5, 0.005, 0.02}, {0, 0.5, 1}}
	for _, c := range cases[:raced.Size(len(cases), 1)] {
		p := floodOf(w, c.leaves, lasts)
		denied := 1 - float64(p.interactive)/float64(p.asked)
		used := float64(p.interactive+p.batch) / (1000 * lasts.Seconds())
		w.Logf("%d %% left: %d interactive calls, %.3f %% denied; %.4f of the limit used", c.leaves, p.asked, 100*denied, used)
		if denied < c.least || denied > c.most || used < 0.999 {
			w.Errorf("%.4f of the interactive calls are denied, %.4f of the limit is used", denied, used)
		}
	}
}

// passed holds the number of interactive calls that were sent, and the numbers of interactive and batch calls that
// passed.
type passed struct{ asked, interactive, batch int }

// floodOf floods a limit of 1000 per second. Its burst of 200 is spent, except for the part that batch calls must
// leave. Two batch calls arrive in each tenth of a millisecond. Interactive calls arrive as a Poisson process of 900
// per second.
func floodOf(w *world, leaves int, lasts time.Duration) (p passed) {
	const step = 100 * time.Microsecond
	interactive := w.a.Limiter.PolicyOf("calls", rule.TokenBucket(rule.PerSecond(1000), rule.Burst(200)))
	batch, random := interactive.LeavingPercent(leaves), rand.New(rand.NewPCG(1, 2))
	ask := func(policies ...*headgate.Policy) (passed int) {
		ops := make([]engine.Op, len(policies))
		for i, of := range policies {
			ops[i] = engine.Op{Kind: engine.OpAllow, Space: engine.PolicySpace("calls"), Key: fmt.Sprint(leaves), Charges: []engine.Charge{{Limit: of.Core().Limits()[0], Cost: 1}}}
		}
		for _, r := range w.a.Limiter.Core().Decide(context.Background(), ops...) {
			if r.Err != nil {
				w.Fatal(r.Err)
			}
			if r.Allowed {
				passed++
			}
		}
		return passed
	}
	for range 200 {
		ask(batch)
	}
	var elapsed, next float64 // in seconds
	for range lasts / step {
		w.clock.Advance(step)
		p.batch += ask(batch, batch)
		for elapsed += step.Seconds(); next < elapsed; next += random.ExpFloat64() / 900 {
			p.asked++
			p.interactive += ask(interactive)
		}
	}
	return p
}
