package algo_test

import (
	"math/rand/v2"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
)

// punished is a key with a bucket, a window and a penalty. The test sets the time.
type punished struct {
	limits []engine.Limit
	states []algo.State
	now    int64
	writes int
}

func (p *punished) take(costs ...int64) (allowed bool, steps []algo.Step) {
	for i, l := range p.limits {
		steps = append(steps, algo.Step{Limit: l.Numbers(), Cost: costs[min(i, len(costs)-1)], State: p.states[i]})
	}
	allowed = algo.Allow(steps, algo.Instant{Now: p.now, Wall: p.now})
	for i := range steps {
		if steps[i].Write {
			p.states[i] = steps[i].State
		}
	}
	if steps[len(steps)-1].Write {
		p.writes++
	}
	return allowed, steps
}

func newPunished(limits ...engine.Limit) *punished {
	return &punished{limits: limits, states: make([]algo.State, len(limits)), now: 1_767_225_600_000_000}
}

// A caller that always waits as long as denials state is never blocked, whatever it requests.
func TestObedientCallersAreNeverBlocked(t *testing.T) {
	const second = 1_000_000
	r := rand.New(rand.NewPCG(5, 6))
	denials, traces := 0, raced.Size(200, 10)
	for trace := range traces {
		p := newPunished(rule.TokenBucket(rule.Per(1+r.Int64N(9), rule.PerSecond(1).Period)),
			rule.FixedWindow(rule.PerMinute(30)), rule.Penalty(rule.PerMinute(1), rule.Block(rule.PerHour(1).Period)))
		for range 5000 {
			allowed, steps := p.take(1 + r.Int64N(3))
			last := steps[len(steps)-1].Outcome
			if last.Wait > 0 {
				t.Fatalf("trace %d: blocked for %d µs", trace, last.Wait)
			}
			wait := max(steps[0].Outcome.Wait, steps[1].Outcome.Wait)
			switch {
			case allowed || wait == algo.Never:
				p.now += r.Int64N(second)
			default:
				denials++
				p.now += wait + r.Int64N(2)*r.Int64N(second)
			}
		}
	}
	if denials < 500*traces {
		t.Errorf("only %d of %d requests were denied", denials, 5000*traces)
	}
}

// A flooding key is blocked for twice as long each time, up to the longest block, and its state is written less and
// less often.
func TestBlocksOfAFlood(t *testing.T) {
	const ms, minute = 1000, 60_000_000
	p := newPunished(rule.TokenBucket(rule.PerMinute(1)),
		rule.Penalty(rule.PerMinute(10), rule.MaxBlock(8*rule.PerMinute(1).Period), rule.Forget(rule.PerHour(1).Period)))
	p.take(1)
	var blocks, writes []int64
	for len(blocks) < 6 {
		p.now += ms
		_, steps := p.take(1)
		o := &steps[1].Outcome
		if o.Wait == 0 {
			continue
		}
		blocks, writes = append(blocks, o.Wait), append(writes, int64(p.writes))
		p.now += o.Wait - 1
		if _, steps := p.take(1); steps[1].Outcome.Wait != 1 || steps[1].Write {
			t.Fatalf("1 µs before the end of block %d: %+v, written %t", len(blocks), steps[1].Outcome, steps[1].Write)
		}
		p.now++
		p.writes = 0
		p.states[0] = algo.StoredBucket(algo.TokenBucket, p.now, 1, 0, 1, minute, algo.Slots{}) // empty: the flood goes on
	}
	for i, most := range []int64{minute, 2 * minute, 4 * minute, 8 * minute, 8 * minute, 8 * minute} {
		if blocks[i] > most || blocks[i] < most-most/8 {
			t.Errorf("block %d lasts %d µs, want 7/8 to 8/8 of %d", i+1, blocks[i], most)
		}
	}
	for i, most := range []int64{11, 6, 3, 2, 2, 2} {
		if writes[i] != most {
			t.Errorf("%d writes before block %d, want %d", writes[i], i+1, most)
		}
	}
}
