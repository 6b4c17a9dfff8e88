package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// write makes the commands of the calls that can leave now. A call waits for an
// earlier one that shares a key with it until that is answered: it could be sent
// again, because the server does not know its script, and would come too late.
func (p *plan) write(now int64, clock func() time.Time) {
	clear(p.commands)
	clear(p.args)
	p.commands, p.replies, p.sent, p.args = p.commands[:0], p.replies[:0], p.sent[:0], p.args[:0]
	clear(p.busy)
	for i := range p.calls {
		command := p.command(&p.calls[i], now, clock)
		if len(p.calls) > 1 && p.waits(&command) {
			continue
		}
		p.commands, p.replies, p.sent = append(p.commands, command), append(p.replies, Reply{}), append(p.sent, i)
	}
}

// waits reports whether a command shares a key with an earlier one.
func (p *plan) waits(command *Command) bool {
	if p.busy == nil {
		p.busy = map[string]struct{}{}
	}
	waits := false
	for _, key := range command.keys() {
		_, taken := p.busy[key]
		waits = waits || taken
	}
	for _, key := range command.keys() {
		p.busy[key] = struct{}{}
	}
	return waits
}

// keys returns the keys of a script call.
func (c *Command) keys() []string {
	n, err := strconv.Atoi(c.Args[2])
	if err != nil || 3+n > len(c.Args) {
		return nil // it is we who write it
	}
	return c.Args[3 : 3+n]
}

// read fills in the results, and leaves the calls that have to be sent, or sent
// again, in their order. It reports, where one should wait a little before, how
// often that has been tried.
func (p *plan) read(ctx context.Context) (pause int) {
	left, reply := 0, 0
	for i := range p.calls {
		c := &p.calls[i]
		if reply < len(p.sent) && p.sent[reply] == i {
			c.tries++
			again := p.answer(ctx, c, &p.replies[reply], c.tries >= tries)
			reply++
			if !again {
				c.forget()
				continue
			}
			if c.moving {
				pause = max(pause, c.tries)
			}
		}
		p.calls[left], p.calls[i] = p.calls[i], p.calls[left]
		left++
	}
	p.calls = p.calls[:left]
	return pause
}

// notRun reports whether an error says that a call was not run and may be sent
// again, and how.
func (s *Store) notRun(c *call, err error) bool {
	server, ok := errors.AsType[*ServerError](err)
	if !ok {
		return false
	}
	class := classOf(server.Text)
	switch class {
	case NoScript:
		c.eval, c.moving = true, false
	case TryAgain, ClusterDown:
		c.moving = true
	default:
		return false
	}
	s.stats.count(class)
	return true
}

// answer reads one call's reply. It reports whether the call is to be sent
// again, and leaves in it the operations that this is about.
func (p *plan) answer(ctx context.Context, c *call, reply *Reply, last bool) (again bool) {
	if reply.Err != nil {
		if !last && ctx.Err() == nil && p.store.notRun(c, reply.Err) {
			return true
		}
		err := p.store.wrap(ctx, reply.Err)
		for _, i := range c.ops {
			p.results[i].Err = err
		}
		return false
	}
	r := reader{text: reply.Text}
	at := r.integer(8)
	if c.sequence == runs {
		c.ops, c.stale = p.replay(c.grouping, &r, at, last, c.ops[:0]), true
	} else {
		c.ops = p.answers(c.ops, &r, at, last)
	}
	p.store.heard(at)
	return len(c.ops) > 0
}

// answers reads the answers of operations that the script decided one by one,
// and returns those that have to be asked again.
func (p *plan) answers(ops []int, r *reader, at int64, last bool) []int {
	kept := ops[:0]
	for _, i := range ops {
		result := &p.results[i]
		text, halfway := r.answer(&p.ops[i], result, p.steps, at)
		switch {
		case text == "RECOMPUTE" && !last:
			kept = append(kept, i)
		case r.bad:
			result.Err = p.store.fail(OutcomeUnknown, errReply.Error(), nil)
		case text != "":
			result.Err = p.store.refusal(text, halfway)
		}
	}
	return kept
}
