package core

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/lease"
)

// Permits contains the permits of a request. The caller ends them with Release.
type Permits struct {
	limiter *Limiter
	ops     []engine.Op // acquires that the store has granted
	term    time.Duration
	expires time.Time // used only by the goroutine that Hold starts

	stop context.CancelFunc // ends the goroutine; nil without Hold
	done chan struct{}      // closed at its end
}

// PermitsOf returns the permits of granted acquires ([engine.OpAcquire]). It retains ops.
func (l *Limiter) PermitsOf(ops []engine.Op) *Permits {
	h := &Permits{limiter: l, ops: ops, term: math.MaxInt64}
	for i := range ops {
		h.term = min(h.term, engine.LeaseOf(ops[i].Charges))
	}
	return h
}

// Hold renews the permits at intervals of a third of their shortest lease time, until Release or Close. Permits that are
// lost, for example because the store has lost its data, are acquired again as soon as there is room. Hold must be
// called only once.
func (h *Permits) Hold(ctx context.Context) {
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.done = make(chan struct{})
	h.expires = time.Now().Add(h.term)
	go func() {
		defer close(h.done)
		for lease.Keep(ctx, h.limiter.done, h.term, func() time.Time { return h.expires }, h.renew) && !h.limiter.Closed() {
			h.expires = time.Now().Add(h.term) // how long the next attempts may take
		}
	}()
}

// renew extends the permits by their lease time, and acquires those that are lost.
func (h *Permits) renew(ctx context.Context) (lost bool, err error) {
	expires := time.Now().Add(h.term)
	for _, kind := range []engine.Kind{engine.OpRenew, engine.OpAcquire} {
		if lost, err = h.do(ctx, kind); err != nil || !lost {
			break
		}
	}
	if err == nil && !lost {
		h.expires = expires
	}
	return lost, err
}

// Release gives the permits back, once. It does nothing for permits that have expired. After an error, the permits end
// after their lease time. The caller must not use h afterwards.
func (h *Permits) Release(ctx context.Context) error {
	if h.stop != nil {
		h.stop()
		<-h.done // otherwise it could acquire the permits again
	}
	_, err := h.do(ctx, engine.OpRelease)
	return err
}

// do runs an operation of the given kind on all permits. denied is true if any of them was denied.
func (h *Permits) do(ctx context.Context, kind engine.Kind) (denied bool, err error) {
	for i := range h.ops {
		h.ops[i].Kind = kind
	}
	answers := make([]engine.Answer, len(h.ops))
	h.limiter.Do(ctx, h.ops, answers)
	for i := range answers {
		a := &answers[i]
		err = cmp.Or(err, a.Err)
		denied = denied || a.Err == nil && !a.Allowed
	}
	return denied, err
}
