package rueidisadapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/redisstore"
)

// health tells whether pipelined connections answer. If a pipelined connection has to be dialed, one call dials it, and
// rueidis makes the others wait for that call, regardless of their own contexts. While the connections may be broken,
// calls therefore wait in goroutines of their own, which their callers can leave. On a Cluster, each range of slots has a
// health of its own: a master that hangs has other connections than those that answer (regression: bug 191). A range can
// have slots of several masters, so a slot that has failed waits apart until it is answered.
type health struct {
	cluster bool // otherwise all commands are of slot 0
	parts   []part
	failed  [redisstore.Slots / 64]atomic.Uint64 // a bit for each slot
}

type part struct {
	heard atomic.Int64  // when the last reply arrived, in ns since 1970; 0 after a failed call
	apart chan struct{} // has an element for each call in a goroutine of its own
}

const (
	// freshness is how long a reply shows that the connections answer.
	freshness = time.Second
	// maxApart bounds the goroutines of a part. Further calls wait.
	maxApart = 64
	// On a Cluster there are more parts, of fewer goroutines: 1024 in all.
	clusterParts    = 64
	maxClusterApart = 16
)

func newHealth(cluster bool) *health {
	n, most := 1, maxApart
	if cluster {
		n, most = clusterParts, maxClusterApart
	}
	h := &health{cluster: cluster, parts: make([]part, n)}
	for i := range h.parts {
		h.parts[i].apart = make(chan struct{}, most)
	}
	return h
}

// of returns the part of a command's slot, and the word and the bit of the slot in failed.
func (h *health) of(command *redisstore.Command) (p *part, failed *atomic.Uint64, bit uint64) {
	slot := 0
	if h.cluster {
		slot = redisstore.Slot(command.Key)
	}
	return &h.parts[slot*len(h.parts)/redisstore.Slots], &h.failed[slot/64], 1 << (slot % 64)
}

// unheard returns a part of the commands whose connection may be broken, or nil if all have answered.
func (h *health) unheard(commands []redisstore.Command) *part {
	now := time.Now().UnixNano()
	for i := range commands {
		p, failed, bit := h.of(&commands[i])
		if now-p.heard.Load() >= int64(freshness) || failed.Load()&bit != 0 {
			return p
		}
	}
	return nil
}

// observe records whether the servers have answered the commands.
func (h *health) observe(commands []redisstore.Command, replies []redisstore.Reply) {
	now := time.Now().UnixNano()
	for i := range replies {
		p, failed, bit := h.of(&commands[i])
		if _, answered := errors.AsType[*redisstore.ServerError](replies[i].Err); replies[i].Err != nil && !answered {
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

// exchangeApart is exchange on pipelined connections, in a goroutine of the part. If the context ends first, the
// commands may have been sent.
func (c *conn) exchangeApart(ctx context.Context, p *part, commands []redisstore.Command, replies []redisstore.Reply) {
	select {
	case p.apart <- struct{}{}:
	case <-ctx.Done():
		failAll(replies, fmt.Errorf("%w: waiting for a connection: %w", redisstore.ErrNotSent, ctx.Err()))
		return
	}
	own, received, done := slices.Clone(commands), make([]redisstore.Reply, len(replies)), make(chan struct{})
	for i := range own { // the caller reuses its slices
		own[i].Args = slices.Clone(own[i].Args)
	}
	go func() { // ends when the client gives up, or is closed
		defer func() { <-p.apart }()
		defer close(done)
		c.exchange(ctx, own, received, true)
		c.health.observe(own, received)
	}()
	select {
	case <-done:
		copy(replies, received)
	case <-ctx.Done():
		failAll(replies, ctx.Err())
	}
}
