package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Guard is [Conn.Do] for a client that may hold a call beyond its context: rueidis makes the calls that share a
// connection wait while one of them dials it, and the Cluster client of go-redis loads what it knows of the servers in
// the call that needs it. While the connections may be broken, calls therefore wait in goroutines of their own, which
// their callers can leave. On a Cluster, each range of slots is judged by itself: a master that hangs has other
// connections than those that answer (regression: bug 191). A range can have slots of several masters, so a slot that has
// failed waits apart until it is answered.
type Guard struct {
	exchange func(context.Context, []Command, []Reply)
	cluster  bool // otherwise all commands are of slot 0
	parts    []guarded
	failed   [Slots / 64]atomic.Uint64 // a bit for each slot
}

// guarded is a range of slots.
type guarded struct {
	heard    atomic.Int64  // when the last reply arrived, in ns since 1970; 0 after a failed call
	detached chan struct{} // has an element for each call in a goroutine of its own
}

const (
	// freshness is how long a reply shows that the connections answer.
	freshness = time.Second
	// maxApart bounds the goroutines of one server. Further calls wait.
	maxApart = 64
	// On a Cluster there are more ranges, of fewer goroutines: 1024 in all.
	clusterParts    = 64
	maxClusterApart = 16
)

// NewGuard returns a guard for a client's way to send commands and to set their replies. If a call's context ends first,
// exchange still runs in its goroutine: it must end when the client gives up or is closed.
func NewGuard(cluster bool, exchange func(ctx context.Context, commands []Command, replies []Reply)) *Guard {
	n, most := 1, maxApart
	if cluster {
		n, most = clusterParts, maxClusterApart
	}
	g := &Guard{exchange: exchange, cluster: cluster, parts: make([]guarded, n)}
	for i := range g.parts {
		g.parts[i].detached = make(chan struct{}, most)
	}
	return g
}

// Do sends the commands. See [Conn].
func (g *Guard) Do(ctx context.Context, commands []Command, replies []Reply) {
	if p := g.unheard(commands); p != nil {
		g.exchangeApart(ctx, p, commands, replies)
		return
	}
	g.exchange(ctx, commands, replies)
	g.observe(commands, replies)
}

// DoApart is [Guard.Do] for a client that may hold a call at any time: if a connection breaks, rueidis makes all calls
// wait for the first one's dial, however soon their contexts end (regression: bug 241).
func (g *Guard) DoApart(ctx context.Context, commands []Command, replies []Reply) {
	g.exchangeApart(ctx, g.unheard(commands), commands, replies)
}

// of returns the range of a command's slot, and the word and the bit of the slot in failed.
func (g *Guard) of(command *Command) (p *guarded, failed *atomic.Uint64, bit uint64) {
	slot := 0
	if g.cluster {
		slot = Slot(command.Key)
	}
	return &g.parts[slot*len(g.parts)/Slots], &g.failed[slot/64], 1 << (slot % 64)
}

// unheard returns a range of the commands whose connection may be broken, or nil if all have answered.
func (g *Guard) unheard(commands []Command) *guarded {
	now := time.Now().UnixNano()
	for i := range commands {
		p, failed, bit := g.of(&commands[i])
		if now-p.heard.Load() >= int64(freshness) || failed.Load()&bit != 0 {
			return p
		}
	}
	return nil
}

// observe records whether the servers have answered the commands.
func (g *Guard) observe(commands []Command, replies []Reply) {
	now := time.Now().UnixNano()
	for i := range replies {
		p, failed, bit := g.of(&commands[i])
		if _, answered := errors.AsType[*ServerError](replies[i].Err); replies[i].Err != nil && !answered {
			p.heard.Store(0)
			failed.Or(bit)
			continue
		}
		p.heard.Store(now)
		if failed.Load()&bit != 0 { // the word is shared, and seldom changes
			failed.And(^bit)
		}
	}
}

// exchangeApart is exchange in a goroutine. If a range is unheard, p, the goroutine is one of this range's. If the context
// ends first, the commands may have been sent, and their ranges are unheard.
func (g *Guard) exchangeApart(ctx context.Context, p *guarded, commands []Command, replies []Reply) {
	fail := func(err error) {
		for i := range replies {
			replies[i] = Reply{Err: err}
		}
	}
	leave := func() {}
	if p != nil {
		select {
		case p.detached <- struct{}{}:
			leave = func() { <-p.detached }
		case <-ctx.Done():
			fail(fmt.Errorf("%w: waiting for a connection: %w", ErrNotSent, ctx.Err()))
			return
		}
	}
	own, received, done := slices.Clone(commands), make([]Reply, len(replies)), make(chan struct{})
	for i := range own { // the caller reuses its slices
		own[i].Args = slices.Clone(own[i].Args)
	}
	go func() { // ends when the client gives up, or is closed
		defer leave()
		defer close(done)
		g.exchange(ctx, own, received)
		g.observe(own, received)
	}()
	select {
	case <-done:
		copy(replies, received)
	case <-ctx.Done():
		fail(ctx.Err())
		g.observe(commands, replies)
	}
}
