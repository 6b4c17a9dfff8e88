package resp

import (
	"context"
	"sync"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// answer answers a batch of commands in order.
func (c *conn) answer(ctx context.Context, batch []wire.Command) {
	for _, words := range batch {
		c.answerOne(ctx, words)
		if c.flushIfLong(); c.closing {
			break
		}
	}
	c.decide(ctx)
	c.known = c.known || !c.anonymous()
}

// answerOne answers one command, or queues it between MULTI and EXEC.
func (c *conn) answerOne(ctx context.Context, words [][]byte) {
	cmd, errorReply := c.srv.commands.find(words)
	switch {
	case cmd == nil && isHTTP(words[0]):
		c.srv.cfg.Refused(service.WebPage)
		c.srv.httpLines.Warn(c.srv.cfg.Logger, "resp: HTTP request rejected", "client", c.nc.RemoteAddr(), "id", c.id)
		c.closing = true
	case cmd == nil:
		c.tx.broken = c.tx.open
		c.decide(ctx)
		c.replyError(errorReply)
		c.countUnknown(words[0])
	case !c.allowed(cmd):
		c.tx.broken = c.tx.open
		c.decide(ctx)
		c.replyError(msgNoAuth)
		c.srv.cfg.Refused(service.NoUser)
	case c.tx.open && !cmd.immediate:
		c.queue(cmd, words)
	default:
		c.execute(ctx, cmd, words)
	}
}

// countUnknown counts words that are no command, by their first one. A command that makes no decision is not counted,
// because client libraries begin a connection with subcommands that a server may lack.
func (c *conn) countUnknown(name []byte) {
	switch cmd := c.srv.commands.lookup(name); {
	case cmd == nil:
		c.srv.cfg.Refused(service.NoPath)
	case cmd.decision != nil:
		c.srv.cfg.Refused(service.Malformed)
	}
}

// allowed reports whether the client may send the command. Until it has authenticated as a user, it may only
// authenticate, reset the connection or end it.
func (c *conn) allowed(cmd *command) bool {
	return cmd.open || !c.anonymous()
}

// execute executes one command with a valid number of words. A decision command is only added to the pending ones.
// Any other command is executed after the pending commands have got their replies.
func (c *conn) execute(ctx context.Context, cmd *command, words [][]byte) {
	if cmd.do == nil {
		if c.pending == nil {
			c.pending = decisionPool.Get().(*pendingDecisions)
		}
		if !c.pending.add(cmd.decision, words) {
			c.srv.cfg.Refused(service.Malformed)
		}
		return
	}
	c.decide(ctx)
	cmd.do(ctx, c, words)
}

// decide decides the pending decision commands, if there are any, and appends their replies.
func (c *conn) decide(ctx context.Context) {
	if c.pending == nil {
		return
	}
	if f := c.srv.cfg.Users; f != nil {
		ctx = users.With(ctx, f.Current(c.user)) // the user's rights may have changed since the client authenticated
	}
	c.out = c.pending.finish(ctx, c.srv.cfg.Decide, c.out, c.proto)
	c.pending = nil
}

// pendingDecisions holds consecutive decision commands that arrived together on one connection. They are decided in
// one call.
type pendingDecisions struct {
	calls    []pendingCommand
	requests []decide.Request
	answers  []decide.Response
}

// decisionPool reuses the buffers, so that idle connections need none.
var decisionPool = sync.Pool{New: func() any { return new(pendingDecisions) }}

// pendingCommand is one of the commands in pendingDecisions. Its requests are requests[from:to]. If err is set, it is
// the reply.
type pendingCommand struct {
	decision *DecisionCommand
	from, to int
	err      error
}

// add parses a command and appends its requests, and reports whether it could be parsed.
func (p *pendingDecisions) add(d *DecisionCommand, words [][]byte) bool {
	from := len(p.requests)
	requests, err := d.Parse(p.requests, words)
	if err != nil {
		clear(requests[from:]) // the pool must not retain their keys
		requests = requests[:from]
	}
	p.requests = requests
	p.calls = append(p.calls, pendingCommand{decision: d, from: from, to: len(p.requests), err: err})
	return err == nil
}

// finish decides the requests and appends the reply to each command, in order. It returns p to the pool.
func (p *pendingDecisions) finish(ctx context.Context, do func(context.Context, []decide.Request, []decide.Response), dst []byte, proto wire.Proto) []byte {
	n := len(p.requests)
	if cap(p.answers) < n {
		p.answers = make([]decide.Response, n, cap(p.requests))
	}
	answers := p.answers[:n]
	if n > 0 {
		do(ctx, p.requests, answers)
	}
	for _, c := range p.calls {
		if c.err != nil {
			dst = wire.AppendError(dst, "ERR "+c.err.Error())
			continue
		}
		dst = c.decision.Reply(dst, proto, answers[c.from:c.to:c.to])
	}
	clear(p.calls) // the pool must not retain the memory to which these refer
	clear(p.requests)
	clear(answers)
	p.calls, p.requests = p.calls[:0], p.requests[:0]
	decisionPool.Put(p)
	return dst
}

// flushIfLong writes the buffered replies if they exceed flushAt. The next command is then answered only after the
// client has accepted them.
func (c *conn) flushIfLong() {
	if len(c.out) >= flushAt {
		_ = c.flush() // its error is in c.writeErr
	}
}

func (c *conn) replyError(text string)  { c.out = wire.AppendError(c.out, text) }
func (c *conn) replySimple(text string) { c.out = wire.AppendSimple(c.out, text) }
func (c *conn) replyOK()                { c.replySimple("OK") }

// isHTTP reports whether a command's name is the beginning of a line of an HTTP request. A web page can make a
// browser send an HTTP request with commands in its body. Like Redis, the server closes the connection before it
// reads such commands.
func isHTTP(name []byte) bool {
	var lower [maxName]byte
	switch string(lowerName(&lower, name)) {
	case "post", "host:":
		return true
	}
	return false
}

// maxShown is the maximum number of bytes of a client's word that an error reply repeats.
const maxShown = 128

// find returns the command for the words. If none exists, it returns nil and the error reply.
func (t table) find(words [][]byte) (_ *command, errorReply string) {
	cmd := t.lookup(words[0])
	if cmd == nil {
		return nil, "ERR unknown command '" + printable(words[0], maxShown) + "'"
	}
	if cmd.subs != nil && len(words) > 1 {
		sub := cmd.subs.lookup(words[1])
		if sub == nil {
			return nil, "ERR unknown subcommand '" + printable(words[1], maxShown) + "'"
		}
		cmd = sub
	}
	if !cmd.takes(len(words)) {
		return nil, wrongArity(cmd)
	}
	return cmd, ""
}

func wrongArity(cmd *command) string {
	return "ERR wrong number of arguments for '" + cmd.Name + "' command"
}

// printable returns at most the first max bytes of word, with '?' for bytes that are not printable ASCII.
func printable(word []byte, max int) string {
	shown := []byte(string(word[:min(len(word), max)]))
	for i, c := range shown {
		if c < ' ' || c > '~' {
			shown[i] = '?'
		}
	}
	return string(shown)
}

// takes reports whether the command accepts the given number of words.
func (cmd *command) takes(words int) bool {
	return words == cmd.Arity || cmd.Arity < 0 && words >= -cmd.Arity
}

// lookup returns the command with the given name, ignoring case. It returns nil if none exists.
func (t table) lookup(name []byte) *command {
	var lower [maxName]byte
	return t[string(lowerName(&lower, name))]
}

// lowerName returns name in lower case (ASCII only). It writes to buf to avoid an allocation. If name is too long, it
// returns a byte that is not in any name.
func lowerName(buf *[maxName]byte, name []byte) []byte {
	if len(name) > maxName {
		return []byte{0}
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		buf[i] = c
	}
	return buf[:len(name)]
}
