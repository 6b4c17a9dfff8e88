package resp

import (
	"context"
	"strings"
	"sync"

	"github.com/headgate/headgate/server/resp/wire"
	"github.com/headgate/headgate/server/service"
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
			c.undecided = decisions.Get().(*undecided)
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
	c.out = c.undecided.finish(ctx, c.srv.cfg.Decide, c.out, c.proto)
	c.undecided = nil
}

// undecided are consecutive decision commands of one connection that arrived together:
// they are decided in one call.
type undecided struct {
	calls    []call
	requests []service.Request
	answers  []service.Response
}

// decisions keeps the memory; idle connections hold none.
var decisions = sync.Pool{New: func() any { return new(undecided) }}

// call is one of the commands: its requests are requests[from:to], unless err is its
// reply.
type call struct {
	decision *Decision
	from, to int
	err      error
}

func (u *undecided) add(d *Decision, words [][]byte) {
	from := len(u.requests)
	requests, err := d.Parse(u.requests, words)
	if err == nil {
		u.requests = requests
	}
	u.calls = append(u.calls, call{decision: d, from: from, to: len(u.requests), err: err})
}

// finish decides what was added and appends a reply to each command, in order. It hands
// the memory back.
func (u *undecided) finish(ctx context.Context, decide func(context.Context, []service.Request, []service.Response), dst []byte, p wire.Proto) []byte {
	n := len(u.requests)
	if cap(u.answers) < n {
		u.answers = make([]service.Response, n, cap(u.requests))
	}
	answers := u.answers[:n]
	if n > 0 {
		decide(ctx, u.requests, answers)
	}
	for _, c := range u.calls {
		if c.err != nil {
			dst = wire.AppendError(dst, "ERR "+c.err.Error())
			continue
		}
		dst = c.decision.Reply(dst, p, answers[c.from:c.to:c.to])
	}
	clear(u.calls) // the pool keeps the memory, not what it refers to
	clear(u.requests)
	clear(answers)
	u.calls, u.requests = u.calls[:0], u.requests[:0]
	decisions.Put(u)
	return dst
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

// maxShown is how many bytes of a client's words an error repeats.
const maxShown = 128

// find returns the command that words call, or nil and the error reply.
func (t table) find(words [][]byte) (_ *command, refusal string) {
	cmd := t.lookup(words[0])
	if cmd == nil {
		return nil, unknownCommand(words)
	}
	if cmd.subs != nil && len(words) > 1 {
		sub := cmd.subs.lookup(words[1])
		if sub == nil {
			return nil, "ERR unknown subcommand '" + printable(words[1], maxShown) + "'. Try " + strings.ToUpper(cmd.Name) + " HELP."
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

// unknownCommand repeats the name and the first words after it, in Redis's
// form.
func unknownCommand(words [][]byte) string {
	var args strings.Builder
	for _, word := range words[1:] {
		if args.Len() >= maxShown {
			break
		}
		args.WriteString("'" + printable(word, maxShown-args.Len()) + "' ")
	}
	return "ERR unknown command '" + printable(words[0], maxShown) + "', with args beginning with: " + args.String()
}

// printable returns the first max bytes of word, with '?' for each byte that
// is not printable ASCII.
func printable(word []byte, max int) string {
	shown := []byte(string(word[:min(len(word), max)]))
	for i, c := range shown {
		if c < ' ' || c > '~' {
			shown[i] = '?'
		}
	}
	return string(shown)
}

// takes reports whether the command may have that many words.
func (cmd *command) takes(words int) bool {
	return words == cmd.Arity || cmd.Arity < 0 && words >= -cmd.Arity
}

// lookup returns the command of that name in any case, or nil.
func (t table) lookup(name []byte) *command {
	var lower [maxName]byte
	return t[string(lowerName(&lower, name))]
}

// lowerName returns name in lower case (ASCII alone), without allocating: its
// bytes are in buf. A name that is too long for a command comes back cut, with
// a byte that no name has.
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
