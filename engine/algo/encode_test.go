package algo_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

// written returns limits of every algorithm that counts units, and for each limit a state after some charges.
func written() (limits []engine.Limit, states []algo.State) {
	limits = []engine.Limit{
		rule.TokenBucket(rule.PerSecond(10)), rule.Pacer(rule.PerSecond(10), rule.MaxQueue(10)), rule.FixedWindow(rule.PerHour(10)),
		rule.SlidingWindow(rule.PerHour(10)), rule.SlidingLog(rule.PerHour(10)),
		rule.WarmUp(rule.PerSecond(10), time.Minute), rule.Concurrency(5), rule.FairConcurrency(20), rule.FairShare(rule.PerSecond(10)),
		rule.FairPacer(rule.PerSecond(10), rule.MaxQueue(20)),
		rule.AdaptiveRate(rule.PerSecond(10), 1, 100),
	}
	now := algo.Instant{Now: 1_700_000_000_000_000, Wall: 1_700_000_000_000_000}
	for _, limit := range limits {
		var state algo.State
		for range 3 {
			steps := []algo.Step{{Limit: limit.Numbers(), Cost: 1, State: state, KeyHash: uint64(now.Now % 3)}}
			if limit.Algorithm().Holds() {
				algo.Acquire(steps, now, string(rune('a'+now.Now%26)))
			} else {
				algo.Allow(steps, now)
			}
			state = steps[0].State
			now.Now, now.Wall = now.Now+70_001, now.Wall+70_001
		}
		states = append(states, state)
	}
	return limits, states
}

// TestStatesAreReadBack checks that an encoded state decodes to the same state, and that no truncated encoding
// decodes.
func TestStatesAreReadBack(t *testing.T) {
	limits, states := written()
	for i := range states {
		data := states[i].Append(nil)
		if len(data) < 2 {
			t.Fatalf("%s has no state", limits[i])
		}
		read, err := algo.DecodeState(data)
		if err != nil || !bytes.Equal(read.Append(nil), data) || !read.Of(limits[i].Algorithm()) {
			t.Errorf("%s: %x is read as %x: %v", limits[i], data, read.Append(nil), err)
		}
		for cut := range data {
			if _, err := algo.DecodeState(data[:cut]); err == nil {
				t.Errorf("%s: %d of %d bytes are accepted", limits[i], cut, len(data))
			}
		}
	}
	steps := []algo.Step{{Limit: rule.Concurrency(5).Numbers(), Cost: 1}}
	algo.Acquire(steps, algo.Instant{Now: 1}, "a key of")
	data := steps[0].State.Append(nil)
	data[0] = byte(algo.FairConcurrency)
	if _, err := algo.DecodeState(data); err == nil {
		t.Error("a fair permit without an id is accepted")
	}
	var none algo.State
	if read, err := algo.DecodeState(none.Append(nil)); err != nil || !read.Absent() {
		t.Errorf("no state is read as %+v, %v", read, err)
	}
}

// FuzzDecodeState checks that decodable bytes encode to the same bytes, and that a decision on the result does not
// panic. It makes no decision on permits.
func FuzzDecodeState(f *testing.F) {
	limits, states := written()
	for i := range states {
		f.Add(states[i].Append(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		state, err := algo.DecodeState(data)
		if err != nil {
			return
		}
		if again := state.Append(nil); !bytes.Equal(again, data) {
			t.Fatalf("%x is read and written as %x", data, again)
		}
		now := algo.Instant{Now: 1_700_000_000_000_000, Wall: 1_700_000_000_000_000}
		for _, limit := range limits {
			if state.Of(limit.Algorithm()) && !limit.Algorithm().Holds() {
				algo.Peek([]algo.Step{{Limit: limit.Numbers(), Cost: 1, State: state}}, now)
			}
		}
	})
}
