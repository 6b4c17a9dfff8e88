package resp

import (
	"bytes"
	"context"
	"fmt"

	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/resp/wire"
)

const (
	// maxQueued is the maximum number of commands between MULTI and EXEC.
	maxQueued = 1024

	// maxQueuedBytes bounds the bytes of the queued commands' words. Each word counts an additional wordOverhead for
	// its slice.
	maxQueuedBytes = 1 << 20
	wordOverhead   = 32

	// queueBlock is the number of queued bytes that take a place, and maxQueueBlocks the number of places of all
	// connections together: 32 MiB. A peer has its share of them.
	queueBlock     = 4 << 10
	maxQueueBlocks = 8 << 10
)

// transaction holds the commands between MULTI and EXEC. EXEC executes them in order, but separately: commands of
// other clients can be executed between them.
type transaction struct {
	open   bool
	broken bool // a command could not be queued, so EXEC fails
	queued []queuedCommand
	bytes  int           // bytes of the queued words, including their overhead
	places []peers.Place // one for each queueBlock of them
}

// end forgets the transaction, and frees its places.
func (t *transaction) end() {
	for _, p := range t.places {
		p.Free()
	}
	*t = transaction{}
}

type queuedCommand struct {
	cmd   *command
	words [][]byte
}

func transactionCommands() []*command {
	fast := []string{"fast"}
	return []*command{
		{Spec: Spec{Name: "multi", Arity: 1, Flags: fast}, do: multi, immediate: true},
		{Spec: Spec{Name: "exec", Arity: 1}, do: exec, immediate: true},
		{Spec: Spec{Name: "discard", Arity: 1, Flags: fast}, do: discard, immediate: true},
	}
}

func multi(_ context.Context, c *conn, _ [][]byte) {
	if c.tx.open {
		c.replyError("ERR MULTI calls can not be nested")
		return
	}
	c.tx.open = true
	c.replyOK()
}

// queue stores a copy of words for EXEC, because the next read overwrites them.
func (c *conn) queue(cmd *command, words [][]byte) {
	if c.tx.broken {
		c.replySimple("QUEUED") // as in Redis, although EXEC will fail
		return
	}
	for _, word := range words {
		c.tx.bytes += len(word) + wordOverhead
	}
	if len(c.tx.queued) == maxQueued || c.tx.bytes > maxQueuedBytes {
		c.breakTransaction(fmt.Sprintf("ERR transaction is too long: at most %d commands and %d bytes can be queued", maxQueued, maxQueuedBytes))
		return
	}
	for len(c.tx.places)*queueBlock < c.tx.bytes {
		p, verdict := c.srv.queues.Take(peers.Peer(c.nc.RemoteAddr()))
		if verdict != peers.Granted {
			c.breakTransaction(fmt.Sprintf("ERR transactions of this client or of all clients have too many queued bytes: at most %d in all, and a share of them for each address", maxQueueBlocks*queueBlock))
			return
		}
		c.tx.places = append(c.tx.places, p)
	}
	kept := make([][]byte, len(words))
	for i, word := range words {
		kept[i] = bytes.Clone(word)
	}
	c.tx.queued = append(c.tx.queued, queuedCommand{cmd, kept})
	c.replySimple("QUEUED")
}

// breakTransaction drops what is queued. EXEC will fail.
func (c *conn) breakTransaction(reason string) {
	c.tx.end()
	c.tx.open, c.tx.broken = true, true
	c.replyError(reason)
}

func exec(ctx context.Context, c *conn, _ [][]byte) {
	tx := c.tx
	c.tx = transaction{}
	defer tx.end()
	switch {
	case !tx.open:
		c.replyError("ERR EXEC without MULTI")
		return
	case tx.broken:
		c.replyError("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	c.out = wire.AppendArray(c.out, len(tx.queued))
	for _, queued := range tx.queued {
		c.execute(ctx, queued.cmd, queued.words)
		if c.flushIfLong(); c.closing {
			return
		}
	}
	c.decide(ctx)
}

func discard(_ context.Context, c *conn, _ [][]byte) {
	if !c.tx.open {
		c.replyError("ERR DISCARD without MULTI")
		return
	}
	c.tx.end()
	c.replyOK()
}
