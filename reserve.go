package headgate

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/queue"
)

// Reservation is units that a caller has reserved with [Policy.Reserve]. The caller settles
// it once, with Cancel or Commit. Units of a reservation that is never settled stay spent.
// It is safe for use by many goroutines.
type Reservation struct {
	limiter *Limiter
	held    *engine.Reservation
	each    []*engine.Reservation // of several keys, in the place of held; nil of one key
	slot    time.Time             // until which the caller waits, by the clock of this process
}

// longestReserve is the longest delay that a call without a deadline accepts.
const longestReserve = 36525 * 24 * time.Hour

// Reserve charges the key n units, 1 or more, and returns at once. Where the policy has
// token buckets and pacers only, it also reserves units that come later: the caller then
// waits for [Reservation.Delay]. No delay ends after the deadline of ctx. A token bucket
// reserves at most 4294967295 units ahead.
//
// On a denial the reservation is nil. Then Decision.RetryAfter says when the same call
// passes. A Decision.Delay above 0 is the delay of a reservation that would have ended
// after the deadline. The errors are those of [Limiter.Allow].
//
// With 10 a second and burst 1, the third of three reservations has a delay of 200 ms.
func (p *Policy) Reserve(ctx context.Context, key string, n int64) (*Reservation, Decision, error) {
	answer := p.reserve(ctx, key, n, true)
	return answer.reservation, answer.decision, answer.err
}

// reserve makes a reservation that can be settled: always, or only if it has a delay.
func (p *Policy) reserve(ctx context.Context, key string, n int64, always bool) reserved {
	c := calls.Get().(*call)
	defer c.freeReserve()
	c.op[0].Ahead = longestDelay(ctx)
	r := p.limiter.ask(ctx, c, engine.OpReserve, p.space, key, p.limits, n, "")
	answer := p.limiter.reserved(&c.op[0], r, always)
	if answer.err == nil {
		answer.decision.Binding.Policy = p.name
	}
	return answer
}

func (c *call) freeReserve() {
	c.op[0].Ahead = 0
	c.free()
}

// longestDelay returns the longest delay that a caller accepts: until its deadline.
func longestDelay(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(longestReserve, max(0, time.Until(deadline))).Truncate(time.Microsecond)
	}
	return longestReserve
}

// reserved is the answer to a reserve.
type reserved struct {
	reservation *Reservation
	decision    Decision
	err         error

	seat queue.Seat // of a caller that waits for its slot
	name seatName
}

func (l *Limiter) reserved(op *engine.Op, r *engine.Result, always bool) (a reserved) {
	if a.err = r.Err; a.err != nil {
		return a
	}
	a.decision.read(op, &r.Outcome)
	if r.Outcome.Allowed && (always || r.Outcome.Delay > 0) {
		held := r.Outcome.Reservation(op, rand.Text())
		held.Space, held.Key = strings.Clone(held.Space), strings.Clone(held.Key) // the caller's memory ends with its call
		a.reservation = &Reservation{limiter: l, held: held, each: ofSeveralKeys(op, &r.Outcome), slot: time.Now().Add(a.decision.Delay)}
	}
	return a
}

// reserveEach decides several reserves in one call.
func (l *Limiter) reserveEach(ctx context.Context, ops []engine.Op) []reserved {
	results, answers := make([]engine.Result, len(ops)), make([]reserved, len(ops))
	for i := range ops {
		ops[i].Replicas = l.replicas
		results[i].Err = l.check(&ops[i], len(ops))
	}
	l.store.Do(ctx, ops, results)
	for i := range ops {
		if l.observer != nil {
			l.observe(ctx, &ops[i], &results[i])
		}
		answers[i] = l.reserved(&ops[i], &results[i], true)
	}
	return answers
}

// Reservation returns the reservation of a text that [Reservation.String] returned, in any
// process with the same store. The error is an [*InputError].
func (l *Limiter) Reservation(text string) (*Reservation, error) {
	held, err := engine.ParseReservation(text)
	if err != nil {
		return nil, err
	}
	slot := int64(0)
	for i := range held.Limits {
		slot = max(slot, held.Limits[i].Slot)
	}
	return &Reservation{limiter: l, held: held, slot: time.UnixMicro(slot)}, nil
}

// String returns the reservation as text, for another process or a restart of this one.
// The text is not signed: accept it from trusted callers only. It names the key.
func (r *Reservation) String() string { return r.held.String() }

// Delay returns how long the caller must still wait before it uses the units; 0 from then
// on. For a reservation from a text, this process's clock is compared with the store's.
func (r *Reservation) Delay() time.Duration { return max(0, time.Until(r.slot)) }

// Cancel gives back the units of the reservation: each to the window, segment, log entry
// or bucket that it was charged to, if its units still count there. Units that later
// callers wait behind stay spent, because these callers have their delays already. A pacer
// gives back only before the end of the delay.
//
// A reservation is settled once: later calls of Cancel and Commit change nothing, in any
// process. It can be settled while its units count, and for at least 5 minutes after its
// delay. The errors are those of [Limiter.Allow]; the call can be repeated after them.
func (r *Reservation) Cancel(ctx context.Context) error { return r.Commit(ctx, 0) }

// Commit settles the reservation with the units that were used: 0 or more. If fewer than
// reserved were used, it gives the others back as Cancel does. If more were used, it
// charges the difference, as far as the limit has room; a bucket's debt and a pacer's queue
// count as room.
func (r *Reservation) Commit(ctx context.Context, used int64) error {
	ops := []engine.Op{r.held.Settle(used)}
	if r.each != nil {
		ops = ops[:0]
	}
	for _, held := range r.each {
		ops = append(ops, held.Settle(used))
	}
	if len(ops) == 0 { // shares of the process were charged under several keys
		return nil
	}
	var err error
	for _, result := range r.limiter.Do(ctx, ops, nil) {
		err = cmp.Or(err, result.Err)
	}
	return err
}
