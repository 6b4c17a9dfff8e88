package linearize

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/headgate/headgate/engine"
)

// reservations contains the reservations made by a process's goroutines, by pair. Any goroutine can settle any
// reservation, so some are settled several times.
type reservations struct {
	mu  sync.Mutex
	all [linearPairs][]reservation
}

// reservation is a reservation, with the keys of its pair that it covers.
type reservation struct {
	*engine.Reservation

	on [2]bool
}

func (r *reservations) add(pair int, made reservation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[pair] = append(r.all[pair], made)
}

// last returns one of a pair's last few reservations: the latest if back is 0, and the first if there are too few. ok
// is false if the pair has no reservation yet.
func (r *reservations) last(pair, back int) (last reservation, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.all[pair]); n > 0 {
		return r.all[pair][max(0, n-1-back)], true
	}
	return last, false
}

const linearPairs = 8

// linearKinds are drawn with equal probability. Kinds that occur several times are more frequent.
var linearKinds = []engine.Kind{
	engine.OpAllow, engine.OpAllow, engine.OpPeek, engine.OpGive,
	engine.OpReserve, engine.OpReserve, engine.OpSettle, engine.OpSettle,
}

// draw returns a random operation and its record for the history. Where a list is possible, half of the operations are
// lists.
func (r *reservations) draw(random *rand.Rand, limit engine.Limit) (in Asked, op engine.Op) {
	in.Pair, in.Kind = random.IntN(linearPairs), linearKinds[random.IntN(len(linearKinds))]
	if in.Kind == engine.OpSettle {
		if held, ok := r.last(in.Pair, random.IntN(4)); ok {
			in.Reservation, in.On, in.Ends = held.ID, held.on, held.Ends
			for i, place := range in.places() {
				in.Cost[place], in.Held[place] = random.Int64N(7), held.Limits[i].Held
			}
			return in, held.SettleEach(func(item int) int64 { return in.Cost[in.places()[item]] })
		}
		in.Kind = engine.OpReserve
	}
	in.On[random.IntN(2)] = true
	if in.Kind != engine.OpGive && random.IntN(2) == 0 {
		in.On = [2]bool{true, true}
	}
	op = engine.Op{Kind: in.Kind, Space: "linear"}
	for _, place := range in.places() {
		in.Cost[place] = 1 + random.Int64N(4)
		key := fmt.Sprintf("%d{%c}", place, 'a'+in.Pair) // both keys are on the same slot
		op.Charges = append(op.Charges, engine.Charge{Key: key, Limit: limit, Cost: in.Cost[place]})
	}
	op.Key = op.Charges[0].Key
	if len(op.Charges) == 1 {
		op.Charges[0].Key = ""
	}
	if in.Kind == engine.OpReserve {
		in.Ahead = random.Int64N(3) * 400
		op.Ahead = time.Duration(in.Ahead) * time.Microsecond
	}
	return in, op
}

// answer returns a result in the history's form. If the operation made a reservation, answer stores it.
func (r *reservations) answer(in *Asked, op *engine.Op, result *engine.Answer, id string) Answered {
	d := result
	out := Answered{Allowed: d.Allowed, At: d.AtMicros, Failed: result.Err != nil}
	var made *engine.Reservation
	switch {
	case in.Kind == engine.OpSettle:
		out.Settled = result.Found
	case in.Kind == engine.OpReserve && d.Allowed:
		made = d.Reservation(op, id)
		r.add(in.Pair, reservation{made, in.On})
	}
	for i, place := range in.places() {
		out.Remaining[place] = d.Of(i).Remaining
		if made != nil {
			out.Held[place] = made.Limits[i].Held
		}
	}
	return out
}

// Record sends operations from many goroutines concurrently. It uses the machine's clock, so that the histories of
// several processes can be merged.
func Record(store engine.Store, limit engine.Limit, goroutines int) []porcupine.Operation {
	const each = 30
	var made reservations
	history := make([]porcupine.Operation, goroutines*each)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), uint64(os.Getpid())))
			for i := range each {
				in, op := made.draw(r, limit)
				ops, results := []engine.Op{op}, make([]engine.Answer, 1)
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
