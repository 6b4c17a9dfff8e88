package core

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/queue"
)

// Reservation holds units that a caller has reserved, until they are settled.
type Reservation struct {
	limiter *Limiter
	held    *engine.Reservation
	slot    time.Time // when the caller may use the units, on this process's clock
}

// Held returns what any process on the same store needs to settle the reservation. The caller must not change it.
func (r *Reservation) Held() *engine.Reservation { return r.held }

// Slot returns when the caller may use the units, on this process's clock.
func (r *Reservation) Slot() time.Time { return r.slot }

// Settle runs a settlement of the reservation: see [engine.Reservation.Settle]. It returns the number of used units that
// could not be charged, and ErrEnded if the reservation is not open. It settles even if ctx has ended, in a call of at
// most a second.
func (r *Reservation) Settle(ctx context.Context, op engine.Op) (dropped int64, err error) {
	ctx, cancel := outliving(ctx)
	defer cancel()
	a := r.limiter.Decide(ctx, op)[0]
	return a.Dropped, endedUnless(a.Found, a.Err)
}

// Report sends a settlement as a report, if the reservation has a term.
func (r *Reservation) Report(ctx context.Context, op engine.Op) error {
	if r.held.Term == nil {
		return nil
	}
	op.Stage = engine.Report
	_, err := r.Settle(ctx, op)
	return err
}

// Renew restarts the reservation's term, and extends each of its permits by its lease time.
func (r *Reservation) Renew(ctx context.Context) error {
	settle := r.held.Settle(0)
	if err := r.Report(ctx, settle); err != nil {
		return err
	}
	op, ok := settle.Permits()
	if !ok {
		return nil
	}
	op.Kind = engine.OpRenew
	a := r.limiter.Decide(ctx, op)[0]
	return endedUnless(a.Allowed, a.Err)
}

// Reservation parses the text of [engine.Reservation.String].
func (l *Limiter) Reservation(text string) (*Reservation, error) {
	held, err := engine.ParseReservation(text)
	if err != nil {
		return nil, err
	}
	return &Reservation{limiter: l, held: held, slot: time.UnixMicro(slotOf(held))}, nil
}

// slotOf returns when the caller may use the units, on the store's clock.
func slotOf(held *engine.Reservation) (slot int64) {
	for i := range held.Limits {
		slot = max(slot, held.Limits[i].Slot)
	}
	return slot
}

// Reserved returns the reservation of an operation that can be settled. It is nil if nothing was charged because of an
// error or a denial, or because no store decided. It shares no memory with the operation.
func (l *Limiter) Reserved(op *engine.Op, a *engine.Answer) *Reservation {
	if a.Err != nil || !a.Allowed || a.Promise.OvershootMax == engine.Unbounded {
		return nil
	}
	id := op.ID
	if id == "" {
		id = rand.Text()
	}
	return &Reservation{limiter: l, held: a.Reservation(op, id), slot: time.Now().Add(a.Delay)}
}

// LongestReserve is the longest delay that a call without a deadline accepts.
const LongestReserve = 36525 * 24 * time.Hour

// LongestDelay returns the longest delay that the caller accepts: the time until its deadline.
func LongestDelay(ctx context.Context) time.Duration {
	if ctx == nil {
		return LongestReserve
	}
	if deadline, ok := ctx.Deadline(); ok {
		return min(LongestReserve, max(0, time.Until(deadline))).Truncate(time.Microsecond)
	}
	return LongestReserve
}

// Reserve charges the key units, also such that refill within the time until the context's deadline. The call's answer
// is valid until Free. The reservation is nil after a denial or an error.
func (p *Policy) Reserve(ctx context.Context, key string, units int64) (*Reservation, *Call) {
	c := p.reserve(ctx, key, units, true)
	return p.limiter.Reserved(&c.ops[0], &c.answers[0]), c
}

// reserve decides a reserve, without its term if the caller would settle it at once.
func (p *Policy) reserve(ctx context.Context, key string, units int64, termed bool) *Call {
	c := calls.Get().(*Call)
	c.ops[0].Ahead = LongestDelay(ctx)
	id := ""
	if p.term != nil && termed {
		id = rand.Text()
		c.ops[0].SetTerm(p.term)
	}
	p.ask(ctx, c, engine.OpReserve, key, units, id)
	return c
}

// FreeReserve is Free for a call of Reserve.
func (c *Call) FreeReserve() {
	c.ops[0].Ahead, c.ops[0].Term = 0, nil
	c.Free()
}

// Charge decides an allow whose charge can be settled. The charge is nil if there is nothing to settle.
func (p *Policy) Charge(ctx context.Context, key string, units int64) (*Charged, engine.Answer) {
	op := engine.Op{Kind: engine.OpAllow, Hints: engine.Hints{Settled: true}, Space: p.space, Key: strings.Clone(key), Charges: p.Charges(nil, units)}
	ops, answers := []engine.Op{op}, make([]engine.Answer, 1)
	p.limiter.Do(ctx, ops, answers)
	charged := p.limiter.ChargedBy(ops, answers)
	if charged.held[0] == nil {
		return nil, answers[0]
	}
	return charged, answers[0]
}

// reserved is the answer to a waiting caller's reserve, and the caller's place in the queue if it waits for its slot.
type reserved struct {
	reservation *Reservation
	answer      engine.Answer // it has an error if there is no decision

	waiter queue.SlotWaiter // for a caller that waits for its slot
	name   lineName
}

func notReserved(err error) reserved { return reserved{answer: engine.Answer{Err: err}} }

// reserveEach decides several reserve operations in one call, which it does not observe.
func (l *Limiter) reserveEach(ctx context.Context, ops []engine.Op) []reserved {
	answers, all := make([]engine.Answer, len(ops)), make([]reserved, len(ops))
	l.run(ctx, ops, answers)
	for i := range ops {
		all[i] = reserved{answer: answers[i], reservation: l.Reserved(&ops[i], &answers[i])}
	}
	return all
}
