package conform

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/memstore"
)

// asked is an operation as the history records it.
type asked struct {
	Key  int
	Kind engine.Kind
	Cost int64
}

// answered is the part of the answer that depends on the order.
type answered struct {
	Allowed   bool
	Remaining int64
	At        int64
	Failed    bool
}

// state is the sequential model's: the steps themselves, one after another, at the times
// that the store reports.
type state struct {
	stored algo.State
	at     int64
}

// sequential returns the model of one key under a limit: each answer is that of
// the steps at the store's time, which never decreases along the order.
func sequential(limit headgate.Limit) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byKey := map[int][]porcupine.Operation{}
			for _, o := range history {
				byKey[o.Input.(asked).Key] = append(byKey[o.Input.(asked).Key], o)
			}
			var parts [][]porcupine.Operation
			for _, part := range byKey {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return state{} },
		Step: func(before, input, output any) (bool, any) {
			s, in, out := before.(state), input.(asked), output.(answered)
			if out.At < s.at || out.Failed {
				return false, s
			}
			steps := []algo.Step{{Limit: limit.Numbers(), Cost: in.Cost, State: s.stored}}
			now := algo.Instant{Now: out.At, Wall: out.At}
			allowed := true
			switch in.Kind {
			case engine.OpAllow:
				allowed = algo.Allow(steps, now)
			case engine.OpPeek:
				allowed = algo.Peek(steps, now)
			default:
				algo.Give(steps, now)
			}
			next := state{stored: s.stored, at: out.At}
			if steps[0].Write {
				if next.stored = steps[0].State; steps[0].TTL == 0 {
					next.stored = algo.State{}
				}
			}
			return allowed == out.Allowed && steps[0].Outcome.Remaining == out.Remaining, next
		},
	}
}

// linearLimits are short, so that an order is found again and again.
func linearLimits() []headgate.Limit {
	return []headgate.Limit{
		headgate.TokenBucket(headgate.PerSecond(20_000), headgate.Burst(20)),
		headgate.Pacer(headgate.PerSecond(20_000), headgate.MaxQueue(20)),
		headgate.FixedWindow(headgate.Per(20, time.Millisecond)),
	}
}

// TestLinearizable records the operations and answers of 64 goroutines on few keys, with
// the store's times, and looks for a sequential order with the same answers.
func TestLinearizable(t *testing.T) {
	for _, limit := range linearLimits() {
		t.Run(limit.String(), func(t *testing.T) {
			store, err := memstore.New(memstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			isLinear(t, limit, record(store, limit, 64))
		})
	}
}

func isLinear(t *testing.T, limit headgate.Limit, recorded []porcupine.Operation) {
	t.Helper()
	history := byStoreTime(t, recorded)
	if result := porcupine.CheckOperationsTimeout(sequential(limit), history, 20*time.Second); result != porcupine.Ok {
		t.Errorf("%d operations: %s", len(history), result)
	}
}

// byStoreTime replaces each operation's interval by one from the store's time, because
// the order must follow that time. Operations of different store times then follow one
// another, and only those of one microsecond remain to be ordered. This is right only if
// no operation has a later store time than one on its key that began after it had ended;
// byStoreTime checks that first.
func byStoreTime(t *testing.T, history []porcupine.Operation) []porcupine.Operation {
	t.Helper()
	const place = 1 << 22 // ns within a group, far more than one takes
	at := func(o porcupine.Operation) int64 { return o.Output.(answered).At }
	type moment struct {
		key int
		at  int64
	}
	first := map[moment]int64{}
	group := func(o porcupine.Operation) moment { return moment{o.Input.(asked).Key, at(o)} }
	for _, o := range history {
		if call, ok := first[group(o)]; !ok || o.Call < call {
			first[group(o)] = o.Call
		}
		for _, later := range history {
			if o.Return < later.Call && group(o).key == group(later).key && at(o) > at(later) {
				t.Fatalf("store time went back from %d to %d", at(o), at(later))
			}
		}
	}
	restated := make([]porcupine.Operation, len(history))
	for i, o := range history {
		from := first[group(o)]
		base := (at(o) - history[0].Output.(answered).At + 1<<30) * place
		o.Call, o.Return = base+min(o.Call-from, place-2), base+min(o.Return-from, place-1)
		restated[i] = o
	}
	return restated
}

// record sends operations from many goroutines at once. Times are those of the machine's
// clock, so that the records of several processes can be merged.
func record(store engine.Store, limit headgate.Limit, goroutines int) []porcupine.Operation {
	const each, keys = 30, 8
	names := [keys]string{"a", "b", "c", "d", "e", "f", "g", "h"}
	history := make([]porcupine.Operation, goroutines*each)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), uint64(os.Getpid())))
			for i := range each {
				in := asked{Key: r.IntN(keys), Kind: []engine.Kind{engine.OpAllow, engine.OpAllow, engine.OpPeek, engine.OpGive}[r.IntN(4)], Cost: 1 + r.Int64N(4)}
				ops := []engine.Op{{Kind: in.Kind, Space: "linear", Key: names[in.Key], Charges: []engine.Charge{{Limit: limit, Cost: in.Cost}}}}
				results := make([]engine.Result, 1)
				call := time.Now().UnixNano()
				store.Do(context.Background(), ops, results)
				d := results[0].Outcome
				history[g*each+i] = porcupine.Operation{
					ClientId: g, Input: in, Call: call, Return: time.Now().UnixNano(),
					Output: answered{Allowed: d.Allowed, Remaining: d.Remaining, At: d.AtMicros, Failed: results[0].Err != nil},
				}
			}
		})
	}
	wg.Wait()
	return history
}
