package resp

import (
	"context"

	"github.com/headgate/headgate/server/resp/wire"
)

// answer answers a batch of commands in their order.
func (c *conn) answer(ctx context.Context, batch []wire.Command) {
	for _, words := range batch {
		c.accept(ctx, words)
		if c.flushIfLong(); c.closing {
			break
		}
	}
	c.decide(ctx)
	c.srv.answered.Add(int64(len(batch)))
}

// accept answers one command, or queues it between MULTI and EXEC.
func (c *conn) accept(ctx context.Context, words [][]byte) {
	cmd, refusal := c.srv.commands.find(words)
	switch {
	case cmd == nil && isHTTP(words[0]):
		c.srv.cfg.Logger.Warn("resp: HTTP request refused", "client", c.nc.RemoteAddr(), "id", c.id)
		c.closing = true
	case cmd == nil:
		c.tx.broken = c.tx.open
		c.decide(ctx)
		c.replyError(refusal)
	case c.tx.open && !cmd.immediate:
		c.queue(cmd, words)
	default:
		c.execute(ctx, cmd, words)
	}
}

// execute executes one command, which takes that many words. A decision
// command only joins the run; any other comes after the run's replies.
func (c *conn) execute(ctx context.Context, cmd *command, words [][]byte) {
	if cmd.do == nil {
		if c.undecided == nil {
			c.undecided = c.srv.cfg.Decisions.begin()
		}
		c.undecided.add(cmd.decision, words)
		return
	}
	c.decide(ctx)
	cmd.do(ctx, c, words)
}

// decide decides the run of decision commands, if there is one, and appends
// its replies.
func (c *conn) decide(ctx context.Context) {
	if c.undecided == nil {
		return
	}
	c.out = c.undecided.finish(ctx, c.out, c.proto)
	c.undecided = nil
}

// flushIfLong keeps the output bounded when commands are many or their replies
// long: no further command is answered before the client has taken these.
func (c *conn) flushIfLong() {
	if len(c.out) >= flushAt {
		_ = c.flush() // its error is in c.writeErr
	}
}

func (c *conn) replyError(text string)  { c.out = wire.AppendError(c.out, text) }
func (c *conn) replySimple(text string) { c.out = wire.AppendSimple(c.out, text) }
func (c *conn) replyOK()                { c.replySimple("OK") }

// isHTTP reports whether a command's name is a line of an HTTP request that a
// web page may have tricked a browser into sending here. Like Redis, the
// server then closes the connection before it reaches a body with commands.
func isHTTP(name []byte) bool {
	var lower [maxName]byte
	switch string(lowerName(&lower, name)) {
	case "post", "host:":
		return true
	}
	return false
}
