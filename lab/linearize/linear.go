package linearize

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

// Asked is an operation as recorded in the history. It uses either one of two keys on the same node or, as a list,
// both.
type Asked struct {
	// Pair identifies the two keys, and On reports which of them the operation uses. A field with two values holds one
	// value per key.
	Pair int
	On   [2]bool
	Kind engine.Kind
	Cost [2]int64
	// Ahead is the longest delay accepted by a reserve, in µs.
	Ahead int64
	// Reservation identifies the reservation that a settle ends. Held describes its charges, and Ends is the latest
	// time when it can be settled.
	Reservation string
	Held        [2]algo.Held
	Ends        int64
}

// Answered contains the fields of an answer that depend on the order of operations.
type Answered struct {
	Allowed   bool
	Remaining [2]int64
	At        int64
	Failed    bool
	Held      [2]algo.Held // for a reserve
	Settled   bool
}

// state is the state of the sequential model, which runs the steps one after another at the times reported by the
// store. settled lists the settled reservations' names, each followed by a comma.
type state struct {
	stored  [2]algo.State
	returns [2]algo.Returns
	at      int64
	settled string
}

// sequential returns the sequential model for two keys under a limit. A list is one operation. The steps compute each
// answer at the store's time, which never decreases in the sequential order.
func sequential(limit engine.Limit) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byPair := map[int][]porcupine.Operation{}
			for _, o := range history {
				byPair[o.Input.(Asked).Pair] = append(byPair[o.Input.(Asked).Pair], o)
			}
			var parts [][]porcupine.Operation
			for _, part := range byPair {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return state{} },
		Step: func(before, input, output any) (bool, any) {
			s, in, out := before.(state), input.(Asked), output.(Answered)
			if out.At < s.at || out.Failed {
				return false, s
			}
			steps, want := s.decide(limit, &in, out.At)
			next := state{stored: s.stored, returns: s.returns, at: out.At, settled: s.settled}
			if want.Settled {
				next.settled += "," + in.Reservation
			}
			for i, at := range in.places() {
				next.returns[at] = steps[i].Returns
				if step := &steps[i]; step.Write {
					if next.stored[at] = step.State; step.TTL == 0 {
						next.stored[at] = algo.State{}
					}
				}
			}
			return want == out, next
		},
	}
}

// places returns the indexes in the pair of the keys that the operation uses.
func (in *Asked) places() (places []int) {
	for at, on := range in.On {
		if on {
			places = append(places, at)
		}
	}
	return places
}

// decide returns the answer that the steps give to an operation at the given time.
func (s *state) decide(limit engine.Limit, in *Asked, at int64) ([]algo.Step, Answered) {
	var steps []algo.Step
	for _, place := range in.places() {
		steps = append(steps, algo.Step{Limit: limit.Numbers(), Cost: in.Cost[place], State: s.stored[place], Held: &in.Held[place], Returns: s.returns[place]})
	}
	now := algo.Instant{Now: at, Wall: at}
	want := Answered{Allowed: true, At: at}
	switch in.Kind {
	case engine.OpAllow:
		want.Allowed = algo.Allow(steps, now)
	case engine.OpPeek:
		want.Allowed = algo.Peek(steps, now)
	case engine.OpReserve:
		want.Allowed = algo.Reserve(steps, now, in.Ahead)
	case engine.OpSettle:
		want.Settled = at < in.Ends && !strings.Contains(s.settled+",", ","+in.Reservation+",")
		algo.Settle(steps, now, want.Settled, false)
	default:
		for i := range steps {
			steps[i].Held = nil // without a handle
		}
		algo.Give(steps, now)
	}
	for i, place := range in.places() {
		o := &steps[i].Outcome
		want.Remaining[place] = o.Remaining
		if in.Kind == engine.OpReserve && want.Allowed {
			taken := at + o.After
			want.Held[place] = algo.Held{Units: in.Cost[place], At: taken, Slot: taken + o.Delay, Ends: at + o.Reset}
		}
	}
	return steps, want
}

// Limits returns limits with short periods, so that they refill many times during a history.
func Limits() []engine.Limit {
	return []engine.Limit{
		rule.TokenBucket(rule.PerSecond(20_000), rule.Burst(20)),
		rule.Pacer(rule.PerSecond(20_000), rule.MaxQueue(20)),
		rule.FixedWindow(rule.Per(20, time.Millisecond)),
	}
}

func Check(t *testing.T, limit engine.Limit, recorded []porcupine.Operation) {
	t.Helper()
	settled, lists, failed := map[bool]int{}, 0, 0
	for _, o := range recorded {
		if o.Output.(Answered).Failed {
			failed++
		}
		if o.Input.(Asked).On == [2]bool{true, true} && o.Output.(Answered).Allowed {
			lists++
		}
		if o.Input.(Asked).Kind == engine.OpSettle {
			settled[o.Output.(Answered).Settled]++
		}
	}
	if settled[true] == 0 || settled[false] == 0 {
		t.Errorf("%d reservations were settled, and %d settlements came too late: both must occur", settled[true], settled[false])
	}
	if lists == 0 {
		t.Error("no list was allowed")
	}
	history := byStoreTime(t, recorded)
	if result := porcupine.CheckOperationsTimeout(sequential(limit), history, 20*time.Second); result != porcupine.Ok {
		t.Errorf("%s: %d operations, of which %d failed: %s", limit, len(history), failed, result)
	}
}

// byStoreTime replaces each operation's interval with an interval derived from the store's time, because the order must
// follow that time. Operations with different store times are then strictly ordered, and only operations within the
// same microsecond need a search. This is valid only if an operation that begins after another on the same pair has
// ended never has an earlier store time. byStoreTime checks this first.
func byStoreTime(t *testing.T, history []porcupine.Operation) []porcupine.Operation {
	t.Helper()
	const place = 1 << 22 // ns within a group; far more than necessary
	type moment struct {
		pair int
		at   int64
	}
	first := map[moment]int64{}
	group := func(o porcupine.Operation) moment { return moment{o.Input.(Asked).Pair, storeTime(o)} }
	for _, o := range history {
		if call, ok := first[group(o)]; !ok || o.Call < call {
			first[group(o)] = o.Call
		}
	}
	if from, to, ok := wentBack(history); ok {
		t.Fatalf("store time went back from %d to %d", from, to)
	}
	restated := make([]porcupine.Operation, len(history))
	for i, o := range history {
		from := first[group(o)]
		base := (storeTime(o) - history[0].Output.(Answered).At + 1<<30) * place
		o.Call, o.Return = base+min(o.Call-from, place-2), base+min(o.Return-from, place-1)
		restated[i] = o
	}
	return restated
}

func storeTime(o porcupine.Operation) int64 { return o.Output.(Answered).At }

// wentBack finds an operation that began after another operation on its pair had ended, but with an earlier store time.
func wentBack(history []porcupine.Operation) (from, to int64, ok bool) {
	ended := slices.SortedFunc(slices.Values(history), func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	latest := map[int]int64{} // by pair, over the operations that had ended
	for _, o := range slices.SortedFunc(slices.Values(history), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) }) {
		for ; ended[0].Return < o.Call; ended = ended[1:] { // stops at o at the latest, which ends later
			pair := ended[0].Input.(Asked).Pair
			latest[pair] = max(latest[pair], storeTime(ended[0]))
		}
		if from, to = latest[o.Input.(Asked).Pair], storeTime(o); from > to {
			return from, to, true
		}
	}
	return 0, 0, false
}
