package redisstore

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// neverWait is the value that scripts use as the wait for a cost that can never pass.
const neverWait = 1 << 53

// errReply is returned for a malformed reply.
var errReply = errors.New("redisstore: a reply that cannot be read")

// recompute is the error that a script returns if the calendar window in its arguments does not contain the server's
// time. Nothing was decided.
const recompute = "RECOMPUTE"

// decodeReply decodes the reply to a call into the results of its operations. It leaves undecided operations in the
// call, and reports whether the call must be sent again. If this was the last try, these operations get an error,
// except for operations that the merger deferred: they are sent in any case.
func (p *pipeline) decodeReply(ctx context.Context, c *scriptCall, reply *Reply, last bool) (again bool) {
	if reply.Err != nil {
		if !last && ctx.Err() == nil && p.store.canResend(c, reply.Err) {
			return true
		}
		err := p.store.wrap(ctx, c.of, reply.Err)
		for _, i := range c.ops {
			p.results[i].Err = err
		}
		return false
	}
	r := reader{text: reply.Text}
	at := r.integer(8) // the server's time, when all operations were decided
	if c.template == merged {
		c.ops, c.stale = p.decideMerged(c, &r, at, last, c.ops[:0]), true
	} else {
		c.ops = p.decodeEach(c, &r, at, last)
	}
	if p.store.clock == nil {
		p.store.clockOffset.Store(at - time.Now().UnixMicro())
	}
	return len(c.ops) > 0
}

// decideMerged decides the operations of a call of merge.lua on the states found by the script, and returns the
// operations that must be sent again.
func (p *pipeline) decideMerged(c *scriptCall, r *reader, at int64, last bool, again []int) []int {
	m := c.merger
	for n := range m.limits {
		l := &m.limits[n]
		for k := l.first; k != none; k = m.keys[k].next {
			f := r.found(l.limit.Numbers())
			for i := m.keys[k].first; i != none; i = m.next[i] {
				result := &p.results[i]
				switch {
				case r.bad:
					result.Err = p.store.fail(c.of, OutcomeUnknown, errReply.Error(), nil)
				case f.readError == recompute && !last:
					again = append(again, int(i))
				case f.readError != "":
					result.Err = p.store.scriptError(c.of, f.readError, false)
				default:
					p.decide(c.of, &f, int(i), at)
				}
			}
		}
	}
	return append(again, m.deferred...)
}

// decide decides one operation on the state of its key. Like the script, it leaves the new state in found.
func (p *pipeline) decide(of *script, f *found, i int, at int64) {
	op, result := &p.ops[i], &p.results[i]
	steps := p.steps[:1]
	steps[0] = op.Step(0)
	steps[0].State = f.state
	allowed, granted := op.Decide(steps, algo.Instant{Now: at, Wall: at})
	if steps[0].Write {
		if f.writeError != "" {
			result.Err = p.store.scriptError(of, f.writeError, false)
			return
		}
		f.state = steps[0].State
	}
	result.Fill(op, steps, allowed, granted, at)
	p.store.working.ran(of, steps[0].Write)
}

// decodeEach decodes the answers to operations that the script decided one by one, and returns the operations that
// must be sent again.
func (p *pipeline) decodeEach(c *scriptCall, r *reader, at int64, last bool) []int {
	again := c.ops[:0]
	for _, i := range c.ops {
		result := &p.results[i]
		text, partly := r.answer(&p.ops[i], result, p.steps, at)
		switch {
		case text == recompute && !last:
			again = append(again, i)
		case r.bad:
			result.Err = p.store.fail(c.of, OutcomeUnknown, errReply.Error(), nil)
		case text != "":
			result.Err = p.store.scriptError(c.of, text, partly)
		default:
			p.store.working.ran(c.of, result.Allowed && p.ops[i].Kind.Takes())
		}
	}
	return again
}

// reader reads a reply: the server's time, and then one answer for each operation or each merged key. It sets bad if
// the reply ends too early or contains an invalid state.
type reader struct {
	text string
	bad  bool
}

// take returns the next size bytes. It returns "" if there are fewer.
func (r *reader) take(size int) string {
	if len(r.text) < size {
		r.text, r.bad = "", true
		return ""
	}
	head := r.text[:size]
	r.text = r.text[size:]
	return head
}

func (r *reader) integer(size int) int64 {
	var word [8]byte
	if text := r.take(size); text != "" {
		copy(word[8-size:], text)
	}
	return int64(binary.BigEndian.Uint64(word[:]))
}

// The first byte of merge.lua's answer for a key is one of these, or the format byte of a state. markWriteError is
// followed by the error's text and the key's unchanged content.
const (
	markAbsent     = 0
	markReserved   = 2 // the state of a bucket with reserved slots, which is longer
	markLong       = 3 // the state of a bucket whose missing amount does not fit in one number
	markReadError  = 254
	markWriteError = 255
)

// found is the state that merge.lua found at a key.
type found struct {
	state      algo.State
	readError  string // set if nothing was decided
	writeError string // set if nothing could be written
}

func (r *reader) found(l *algo.Limit) (f found) {
	mark := r.integer(1)
	if mark == markWriteError {
		f.writeError = r.take(int(r.integer(1)))
		mark = r.integer(1)
	}
	switch mark {
	case markAbsent:
	case markReadError:
		f.readError = r.take(int(r.integer(1)))
	case format:
		f.state = fragments[families[l.Algorithm]].merged.read(r, l)
	case markReserved:
		f.state = readReserved(r, l)
	case markLong:
		f.state = readLong(r, l)
	default:
		r.bad = true
	}
	return f
}

// The status bytes of an answer.
const (
	statusDenied = iota
	statusAllowed
	statusError       // nothing was written
	statusErrorPartly // something was written before the error
)

// answer reads the answer to one operation into its result. If the script returned an error, answer returns the
// error's text and whether something was written before.
func (r *reader) answer(op *engine.Op, result *engine.Answer, steps []algo.Step, atMicros int64) (text string, partly bool) {
	status := r.integer(1)
	if status >= statusError {
		if text = r.take(int(r.integer(1))); r.bad {
			text = ""
		}
		return text, status == statusErrorPartly
	}
	if op.Kind == engine.OpReset || op.Kind == engine.OpExpiry {
		result.Found = status == statusAllowed
		if ttl := r.integer(8); op.Kind == engine.OpExpiry {
			result.TTL = engine.Micros(ttl)
		}
		return "", false
	}
	granted, dropped := r.integer(7), int64(0) // for an operation with choices, the number of the charged choice
	for i := range op.Charges {
		r.outcome(&op.Charges[i], &steps[i])
	}
	allowed := status == statusAllowed
	if op.Kind == engine.OpRelease || op.Kind == engine.OpSettle {
		result.Found, allowed, dropped = allowed, true, granted
	}
	switch chosen := op.Chosen(); {
	case chosen && allowed && len(op.Charges) == 1: // single.lua does not know choices
		algo.Choose(steps[:1], op.Charges[0].Choice, true)
	case chosen && allowed:
		algo.Choose(steps[:len(op.Charges)], uint8(granted), true)
	case chosen:
		algo.Pass(steps[:len(op.Charges)])
	}
	switch {
	case op.Kind == engine.OpAtMost:
	case allowed && (op.Kind == engine.OpAllow || op.Kind == engine.OpAcquire || op.Kind == engine.OpReserve):
		granted = op.Granted(steps)
	default:
		granted = 0
	}
	result.Fill(op, steps[:len(op.Charges)], allowed, granted, atMicros)
	result.Dropped = dropped
	return "", false
}

// outcome reads the outcome of one limit.
func (r *reader) outcome(c *engine.Charge, step *algo.Step) {
	*step = algo.Step{Limit: c.Limit.Numbers(), Choice: c.Choice}
	o := &step.Outcome
	o.Remaining, o.Wait, o.Reset, o.Delay, o.After = r.integer(8), r.integer(8), r.integer(8), r.integer(8), r.integer(7)
	if o.Window = int(r.integer(1)); step.Limit.Algorithm.Punishes() {
		o.Strikes, o.Window = int64(o.Window), 0
	}
	if step.Limit.Algorithm.Adapts() {
		o.Rate, o.Version = r.integer(6), r.integer(6)
	}
	if step.Limit.Algorithm.Holds() && step.Limit.Algorithm.Divides() {
		o.HeldByAll, o.HeldByKey, o.HeavyKeys = r.integer(4), r.integer(4), r.integer(4)
	}
	if o.Wait == neverWait {
		o.Wait = algo.Never
	}
	o.Limit = c.Limit.Capacity()
	if w, ok := step.Limit.Window(o.Window); ok {
		o.Limit = w.Limit
	}
}
