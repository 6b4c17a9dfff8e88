package headgate

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/queue"
)

// Reservation holds units that a caller reserved with [Policy.Reserve]. The caller settles it once, with Cancel or
// Commit. Units of a reservation that is never settled stay spent, unless the policy has a term
// ([Policy.SettleWithin]). A Reservation is safe for concurrent use. A nil Reservation, as after a denial, holds nothing:
// Cancel does nothing, and Commit, Report and Renew return an error that matches [ErrDenied].
type Reservation struct {
	limiter *Limiter
	held    *engine.Reservation
	slot    time.Time // when the caller may use the units, on this process's clock
}

// longestReserve is the longest delay that a call without a deadline accepts.
const longestReserve = 36525 * 24 * time.Hour

// Reserve charges the key n units, 1 or more, and returns at once. If the policy has only token buckets and pacers,
// apart from penalties, Reserve also reserves units that refill later: the caller must wait for [Reservation.Delay].
// Reserve denies the request if the delay would end after the deadline of ctx. A token bucket reserves at most
// 281474976710655 units ahead.
//
// On a denial the reservation is nil, and Decision.RetryAfter is the time until the same call passes, or [Never]. If
// Decision.Delay is above 0 in a denial, the delay would have ended after the deadline. Reserve returns the same errors as [Policy].
//
// With 10 a second and burst 1, the third of three reservations has a delay of 200 ms.
func (p *Policy) Reserve(ctx context.Context, key string, n int64) (*Reservation, Decision, error) {
	answer := p.reserve(ctx, key, n, true)
	return answer.reservation, answer.decision, p.orBroken().named(answer.err)
}

// Charge decides like [Policy.AllowN], and returns the charge as a reservation without a delay. It is for a cost that
// is known only afterwards, such as the bytes of a response, or 0 after a failure. The reservation is nil after a
// denial or an error. It is also nil if the store did not decide, because a charge outside the store cannot be settled.
//
// With 1000 bytes a second, a charge of 100 that is committed as 400 leaves 600.
func (p *Policy) Charge(ctx context.Context, key string, n int64) (*Reservation, Decision, error) {
	p = p.orBroken()
	if p.delays {
		return nil, Decision{}, p.named(errDelays)
	}
	op, r := p.settled(ctx, key, n)
	return r.Reservation, decisionOf(&op, &r.Answer, p.name), p.named(r.Err)
}

// settled decides an allow whose charge can be settled. The result contains no reservation if there is nothing to
// settle.
func (p *Policy) settled(ctx context.Context, key string, n int64) (engine.Op, result) {
	ops := []engine.Op{{Kind: engine.OpAllow, Hints: engine.Hints{Settled: true}, Space: p.space, Key: strings.Clone(key), Charges: p.charges(nil, n)}}
	r := p.limiter.do(ctx, ops, nil)[0]
	if !canSettle(&r) {
		r.Reservation = nil
	}
	return ops[0], r
}

// canSettle reports whether a charge can be settled: a store has charged it.
func canSettle(r *result) bool {
	return r.Err == nil && r.Allowed && r.Promise.OvershootMax != engine.Unbounded
}

// reserve decides a reserve operation. If always is set, every admitted request gets a reservation; otherwise, only a
// request with a delay does.
func (p *Policy) reserve(ctx context.Context, key string, n int64, always bool) reserved {
	p = p.orBroken()
	c := calls.Get().(*opBuffers)
	defer c.freeReserve()
	c.op[0].Ahead = longestDelay(ctx)
	id := ""
	if p.term != nil && always {
		id = rand.Text()
		c.op[0].SetTerm(p.term)
	}
	r := p.limiter.ask(ctx, c, engine.OpReserve, p.space, key, p.group, n, id)
	answer := p.limiter.reserved(&c.op[0], r, always)
	if answer.err == nil {
		answer.decision.Binding.Policy = p.name
	}
	return answer
}

func (c *opBuffers) freeReserve() {
	c.op[0].Ahead, c.op[0].Term = 0, nil
	c.free()
}

// longestDelay returns the longest delay that the caller accepts: the time until its deadline.
func longestDelay(ctx context.Context) time.Duration {
	if ctx == nil {
		return longestReserve
	}
	if deadline, ok := ctx.Deadline(); ok {
		return min(longestReserve, max(0, time.Until(deadline))).Truncate(time.Microsecond)
	}
	return longestReserve
}

// reserved is the result of a reserve operation, and the caller's place in the queue if it waits for its slot.
type reserved struct {
	reservation *Reservation
	decision    Decision
	err         error

	waiter queue.SlotWaiter // for a caller that waits for its slot
	name   lineName
}

func (l *Limiter) reserved(op *engine.Op, r *engine.Answer, always bool) (a reserved) {
	if a.err = r.Err; a.err != nil {
		return a
	}
	a.decision.readOp(op, r)
	if r.Allowed && (always || r.Delay > 0) {
		id := op.ID
		if id == "" {
			id = rand.Text()
		}
		a.reservation = &Reservation{limiter: l, held: r.Reservation(op, id), slot: time.Now().Add(a.decision.Delay)}
	}
	return a
}

// reserveEach decides several reserve operations in one call.
func (l *Limiter) reserveEach(ctx context.Context, ops []engine.Op) []reserved {
	results, answers := make([]engine.Answer, len(ops)), make([]reserved, len(ops))
	l.run(ctx, ops, results)
	for i := range ops {
		if l.isObserved() {
			l.observe(ctx, &ops[i], &results[i])
		}
		answers[i] = l.reserved(&ops[i], &results[i], true)
	}
	return answers
}

// Reservation parses text that [Reservation.String] returned. Any process that uses the same store can parse it. The
// error is an [*engine.InputError].
func (l *Limiter) Reservation(text string) (*Reservation, error) {
	if l = l.orBroken(); l.invalid != nil {
		return nil, l.invalid
	}
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

// String returns the reservation as text. [Limiter.Reservation] parses it, in another process or after a restart. The
// text is not signed: accept it from trusted callers only. It contains the key. The text of a nil Reservation is "".
func (r *Reservation) String() string {
	if r.isEmpty() {
		return ""
	}
	return r.held.String()
}

// Delay returns how long the caller must still wait before it uses the units, or 0. For a parsed reservation, the delay
// assumes that this process's clock agrees with the store's.
func (r *Reservation) Delay() time.Duration {
	if r.isEmpty() {
		return 0
	}
	return max(0, time.Until(r.slot))
}

var errNoReservation = fmt.Errorf("%w: there is no reservation", ErrDenied)

func (r *Reservation) isEmpty() bool { return r == nil || r.held == nil }
