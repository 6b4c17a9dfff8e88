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
// calls therefore wait in goroutines of their own, which their callers can leave.
type health struct {
	heard atomic.Int64  // when the last reply arrived, in ns since 1970; 0 after a failed call
	apart chan struct{} // has an element for each call in a goroutine of its own
}

const (
	// freshness is how long a reply shows that the connections answer.
	freshness = time.Second
	// maxApart bounds the goroutines. Further calls wait.
	maxApart = 64
)

func (h *health) good() bool { return time.Now().UnixNano()-h.heard.Load() < int64(freshness) }

// observe records whether the server has answered a call.
func (h *health) observe(replies []redisstore.Reply) {
	for i := range replies {
		if err := replies[i].Err; err != nil {
			if _, answered := errors.AsType[*redisstore.ServerError](err); !answered {
				h.heard.Store(0)
				return
			}
		}
	}
	h.heard.Store(time.Now().UnixNano())
}

// exchangeApart is exchange on pipelined connections, in another goroutine. If the context ends first, the commands may
// have been sent.
func (c *conn) exchangeApart(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply) {
	select {
	case c.health.apart <- struct{}{}:
	case <-ctx.Done():
		failAll(replies, fmt.Errorf("%w: waiting for a connection: %w", redisstore.ErrNotSent, ctx.Err()))
		return
	}
	own, received, done := slices.Clone(commands), make([]redisstore.Reply, len(replies)), make(chan struct{})
	for i := range own { // the caller reuses its slices
		own[i].Args = slices.Clone(own[i].Args)
	}
	go func() { // ends when the client gives up, or is closed
		defer func() { <-c.health.apart }()
		defer close(done)
		c.exchange(ctx, own, received, true)
		c.health.observe(received)
	}()
	select {
	case <-done:
		copy(replies, received)
	case <-ctx.Done():
		failAll(replies, ctx.Err())
	}
}
