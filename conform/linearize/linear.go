package linearize

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Asked is an operation as the history records it.
type Asked struct {
	Key  int
	Kind engine.Kind
	Cost int64
	// Ahead is the longest delay that a reserve accepts, in µs.
	Ahead int64
	// Reservation names what a settle ends, Held is what was reserved, and Ends is when it
	// can no longer be settled.
	Reservation string
	Held        algo.Held
	Ends        int64
}

// Answered is the part of the answer that depends on the order.
type Answered struct {
	Allowed   bool
	Remaining int64
	At        int64
	Failed    bool
	Held      algo.Held // of a reserve
	Settled   bool
}

// state is the sequential model's: the steps themselves, one after another, at the times
// that the store reports. settled has the names of the reservations that are settled, each
// behind a comma.
type state struct {
	stored  algo.State
	at      int64
	settled string
}

// sequential returns the model of one key under a limit: each answer is that of
// the steps at the store's time, which never decreases along the order.
func sequential(limit headgate.Limit) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byKey := map[int][]porcupine.Operation{}
			for _, o := range history {
				byKey[o.Input.(Asked).Key] = append(byKey[o.Input.(Asked).Key], o)
			}
			var parts [][]porcupine.Operation
			for _, part := range byKey {
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
			step, want := s.decide(limit, &in, out.At)
			next := state{stored: s.stored, at: out.At, settled: s.settled}
			if want.Settled {
				next.settled += "," + in.Reservation
			}
			if step.Write {
				if next.stored = step.State; step.TTL == 0 {
					next.stored = algo.State{}
				}
			}
			return want == out, next
		},
	}
}

// decide returns the answer of the steps to an operation at an instant.
func (s *state) decide(limit headgate.Limit, in *Asked, at int64) (*algo.Step, Answered) {
	steps := []algo.Step{{Limit: limit.Numbers(), Cost: in.Cost, State: s.stored, Held: &in.Held}}
	now := algo.Instant{Now: at, Wall: at}
	want := Answered{Allowed: true, At: at}
	step := &steps[0]
	switch in.Kind {
	case engine.OpAllow:
		want.Allowed = algo.Allow(steps, now)
	case engine.OpPeek:
		want.Allowed = algo.Peek(steps, now)
	case engine.OpReserve:
		if want.Allowed = algo.Reserve(steps, now, in.Ahead); want.Allowed {
			taken := at + step.Outcome.After
			want.Held = algo.Held{Units: in.Cost, Taken: taken, Slot: taken + step.Outcome.Delay, Ends: at + step.Outcome.Reset}
		}
	case engine.OpSettle:
		want.Settled = at < in.Ends && !strings.Contains(s.settled+",", ","+in.Reservation+",")
		algo.Settle(steps, now, want.Settled)
	default:
		algo.Give(steps, now)
	}
	want.Remaining = step.Outcome.Remaining
	return step, want
}

// Limits are short, so that an order is found again and again.
func Limits() []headgate.Limit {
	return []headgate.Limit{
		headgate.TokenBucket(headgate.PerSecond(20_000), headgate.Burst(20)),
		headgate.Pacer(headgate.PerSecond(20_000), headgate.MaxQueue(20)),
		headgate.FixedWindow(headgate.Per(20, time.Millisecond)),
	}
}

func Check(t *testing.T, limit headgate.Limit, recorded []porcupine.Operation) {
	t.Helper()
	settled := map[bool]int{}
	for _, o := range recorded {
		if o.Input.(Asked).Kind == engine.OpSettle {
			settled[o.Output.(Answered).Settled]++
		}
	}
	if settled[true] == 0 || settled[false] == 0 {
		t.Errorf("%d reservations were settled, and %d settlements came too late: both must occur", settled[true], settled[false])
	}
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
	at := func(o porcupine.Operation) int64 { return o.Output.(Answered).At }
	type moment struct {
		key int
		at  int64
	}
	first := map[moment]int64{}
	group := func(o porcupine.Operation) moment { return moment{o.Input.(Asked).Key, at(o)} }
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
		base := (at(o) - history[0].Output.(Answered).At + 1<<30) * place
		o.Call, o.Return = base+min(o.Call-from, place-2), base+min(o.Return-from, place-1)
		restated[i] = o
	}
	return restated
}

// reservations are those that the goroutines of a process have made, by key. Any goroutine
// settles any of them, so that several settle the same.
type reservations struct {
	mu  sync.Mutex
	all [linearKeys][]*engine.Reservation
}

func (r *reservations) add(key int, made *engine.Reservation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[key] = append(r.all[key], made)
}

// last returns one of the last few of a key, nil if there is none.
func (r *reservations) last(key, back int) *engine.Reservation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.all[key]); n > 0 {
		return r.all[key][max(0, n-1-back)]
	}
	return nil
}

const linearKeys = 8

// linearKinds are drawn from, each as often as it is here.
var linearKinds = []engine.Kind{
	engine.OpAllow, engine.OpAllow, engine.OpPeek, engine.OpGive,
	engine.OpReserve, engine.OpReserve, engine.OpSettle, engine.OpSettle,
}

// draw returns a random operation, and how a history records it.
func (r *reservations) draw(random *rand.Rand, limit headgate.Limit) (Asked, engine.Op) {
	in := Asked{Key: random.IntN(linearKeys), Kind: linearKinds[random.IntN(len(linearKinds))], Cost: 1 + random.Int64N(4)}
	key := string(rune('a' + in.Key))
	if in.Kind == engine.OpSettle {
		if held := r.last(in.Key, random.IntN(4)); held != nil {
			in.Cost, in.Reservation, in.Held, in.Ends = random.Int64N(7), held.ID, held.Limits[0].Held, held.Ends
			return in, held.Settle(in.Cost)
		}
		in.Kind = engine.OpReserve
	}
	op := engine.Op{Kind: in.Kind, Space: "linear", Key: key, Charges: []engine.Charge{{Limit: limit, Cost: in.Cost}}}
	if in.Kind == engine.OpReserve {
		in.Ahead = random.Int64N(3) * 400
		op.Ahead = time.Duration(in.Ahead) * time.Microsecond
	}
	return in, op
}

// answer reads a result, and adds the reservation that it made.
func (r *reservations) answer(in *Asked, op *engine.Op, result *engine.Result, id string) Answered {
	d := &result.Outcome
	out := Answered{Allowed: d.Allowed, Remaining: d.Remaining, At: d.AtMicros, Failed: result.Err != nil}
	switch {
	case in.Kind == engine.OpSettle:
		out.Settled = result.Found
	case in.Kind == engine.OpReserve && d.Allowed:
		made := d.Reservation(op, id)
		out.Held = made.Limits[0].Held
		r.add(in.Key, made)
	}
	return out
}

// Record sends operations from many goroutines at once. Times are those of the machine's
// clock, so that the records of several processes can be merged.
func Record(store engine.Store, limit headgate.Limit, goroutines int) []porcupine.Operation {
	const each = 30
	var made reservations
	history := make([]porcupine.Operation, goroutines*each)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), uint64(os.Getpid())))
			for i := range each {
				in, op := made.draw(r, limit)
				ops, results := []engine.Op{op}, make([]engine.Result, 1)
				call := time.Now().UnixNano()
				store.Do(context.Background(), ops, results)
				end := time.Now().UnixNano()
				history[g*each+i] = porcupine.Operation{
					ClientId: g, Input: in, Call: call, Return: end,
					Output: made.answer(&in, &ops[0], &results[0], fmt.Sprint(os.Getpid(), "-", g, "-", i)),
				}
			}
		})
	}
	wg.Wait()
	return history
}
