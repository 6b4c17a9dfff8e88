package lua

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// randomCalls is the number of scripts that TestCalls runs.
var randomCalls = flag.Int("calls", raced.Size(80, 30), "random scripts of calls with many operations")

// bySteps is a reference store that decides operations one by one with the steps of package algo. It deletes a state
// only if it is equivalent to no state.
type bySteps struct {
	clock  func() time.Time
	states map[string]algo.State
}

func (z *bySteps) Do(ops []engine.Op, results []engine.Answer) {
	for i := range ops {
		z.decide(&ops[i], &results[i])
	}
}

func (z *bySteps) decide(op *engine.Op, r *engine.Answer) {
	now := z.clock().UnixMicro()
	at := algo.Instant{Now: now, Wall: now}
	steps, names := make([]algo.Step, len(op.Charges)), make([]string, len(op.Charges))
	for i := range op.Charges {
		space, key := op.Subject(i)
		l := op.Charges[i].Limit
		names[i] = fmt.Sprint(space, "|", key, "|", l.Algorithm(), "|", l.Name(), "|", l.Numbers().Grid())
		steps[i] = op.Step(i)
		steps[i].State = z.states[names[i]]
	}
	if op.Kind == engine.OpRelease {
		r.Found = algo.Release(steps, at, op.ID)
		r.Fill(op, steps, true, 0, now)
	} else {
		allowed, granted := op.Decide(steps, at)
		r.Fill(op, steps, allowed, granted, now)
	}
	for i := range steps {
		switch {
		case !steps[i].Write:
		case steps[i].TTL > 0:
			z.states[names[i]] = steps[i].State
		default:
			delete(z.states, names[i])
		}
	}
}

// TestCalls sends Redis calls with several operations. They use three versions of each limit, handles, and a clock that
// goes back by exactly one span or by more. Each answer must equal the answer of the steps, applied one by one.
func TestCalls(t *testing.T) {
	s := redistest.Standalone(t, redistest.Redis)
	for n := range *randomCalls {
		r := rand.New(rand.NewPCG(*differential.Seed+uint64(n), 77))
		families := kindsOfCall(r)
		if n%3 != 0 {
			families = families[n%len(families):][:1]
		}
		clock := headgatetest.NewClock()
		redis := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Prefix: fmt.Sprintf("calls-%d", n), Clock: clock.Now})
		compareCalls(t, redis, clock, r, families, n)
		_ = redis.Close()
		if n%50 == 49 {
			s.MustDo("flushall")
		}
	}
}

func compareCalls(t *testing.T, redis engine.Store, clock *headgatetest.Clock, r *rand.Rand, families []kindOfCall, script int) {
	t.Helper()
	steps := &bySteps{clock: clock.Now, states: map[string]algo.State{}}
	for i := range families {
		families[i].limits = []engine.Limit{families[i].draw(), families[i].draw(), families[i].draw()}
	}
	var instants []time.Time
	for call := range 60 {
		clock.Advance(clockStep(r))
		instants = append(instants, clock.Now())
		ops := make([]engine.Op, 1+r.IntN(12))
		for i := range ops {
			ops[i] = randomCall(r, families, instants)
		}
		want, got := make([]engine.Answer, len(ops)), make([]engine.Answer, len(ops))
		steps.Do(ops, want)
		redis.Do(context.Background(), ops, got)
		for i := range ops {
			if got[i].Err != nil || !reflect.DeepEqual(want[i], got[i]) {
				t.Fatalf("script %d, call %d, operation %d of %d: %s of %v, handle %s:\n got %+v\nwant %+v",
					script, call, i, len(ops), ops[i].Kind, ops[i].Charges, ops[i].Handle, got[i], want[i])
			}
		}
	}
}

func clockStep(r *rand.Rand) time.Duration {
	if r.IntN(3) == 0 {
		return time.Duration(r.Int64N(300_000)) * time.Microsecond
	}
	steps := []int64{0, 1, 1000, 100_000, 250_000, 700_000, 2_000_000, 6_000_000, 70_000_000, -1, -1000, -150_000, -200_000, -600_000, -999_999, -1_000_000, -1_000_001, -5_000_000, -130_000_000}
	return time.Duration(steps[r.IntN(len(steps))]) * time.Microsecond
}
