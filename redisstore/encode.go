package redisstore

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// maxUnits bounds the costs that are sent. A state holds at most 2^52−1 units, because Lua counts in doubles, so a
// larger cost never passes.
const maxUnits = 1 << 52

// encodeCall returns the command for a call: EVALSHA with the script's hash, or EVAL with its text, followed by the
// keys and the arguments. The argument now is an estimate of the server's time.
func (p *pipeline) encodeCall(c *scriptCall, now int64) Command {
	c.merge(p.ops)
	t, f := c.script()
	script := p.store.script(t, f)
	c.of = script
	from := len(p.args)
	if c.sendText {
		p.args = append(p.args, "EVAL", script.text, "")
	} else {
		p.args = append(p.args, "EVALSHA", script.sha, "")
	}
	p.text, p.argEnds, p.keyCount = p.text[:0], p.argEnds[:0], 0
	if c.template == merged {
		p.encodeMerged(c, now)
	} else {
		p.encodeEach(c, now)
	}
	p.appendArgs()
	if p.store.clock != nil { // prelude_replay.lua reads the time from this argument
		p.args = append(p.args, strconv.FormatInt(now, 10))
	}
	args := p.args[from:len(p.args):len(p.args)]
	args[2] = strconv.Itoa(p.keyCount)
	return Command{Key: args[3], Args: args}
}

func (s *Store) script(t template, f family) *script {
	if t == merged && s.writesMany.Load() {
		return s.scripts.many[f]()
	}
	return s.scripts.ops[t][f]()
}

// endArg ends an argument at the end of text. All keys come before the other arguments.
func (p *pipeline) endArg(text []byte, isKey bool) {
	p.text = text
	p.argEnds = append(p.argEnds, len(text))
	if isKey {
		p.keyCount++
	}
}

// appendArgs appends the encoded arguments to p.args. All of them are slices of one string.
func (p *pipeline) appendArgs() {
	text, from := string(p.text), 0
	for _, end := range p.argEnds {
		p.args = append(p.args, text[from:end])
		from = end
	}
}

// encodeMerged encodes a call of merge.lua: first all keys, limit by limit, and then for each limit its family, the
// number of its keys, and its numbers. The entries of each key follow, unless there is exactly one allow of the same cost
// for each key: a limit with keys of both kinds is sent twice.
func (p *pipeline) encodeMerged(c *scriptCall, now int64) {
	m := c.merger
	for i := range m.limits {
		l := &m.limits[i]
		h := &m.heads[l.head]
		start := len(p.text)
		b := appendHead(p.text, p.store.prefix, h.space, h.counter.Algorithm.Code(), &h.counter.Grid, h.counter.Name)
		end := len(b)
		for k := l.first; k != none; k = m.keys[k].next {
			if k != l.first {
				b = append(b, b[start:end]...)
			}
			b = p.store.shards.appendSubject(b, m.keys[k].subject)
			p.endArg(b, true)
		}
	}
	for i := range m.limits {
		l := &m.limits[i]
		numbers := l.limit.Numbers()
		b := p.text
		b = append(b, byte(families[numbers.Algorithm]))
		b = appendInt(b, 2, int64(l.count))
		p.endArg(encodeCharge(b, numbers, l.cost, now), false)
		for k := l.first; k != none && l.cost == 0; k = m.keys[k].next {
			p.endArg(m.encodeEntries(p.text, p.ops, &m.keys[k]), false)
		}
	}
}

// encodeEntries appends the operations on one key. First it appends a flag that is set if any of them may charge. Then,
// for each allow, count and give, it appends the kind, the cost and the number of repetitions. Peeks, and operations
// that cost 0, change nothing and are omitted.
func (m *merger) encodeEntries(b []byte, ops []engine.Op, k *mergedKey) []byte {
	b = append(b, bit(k.charges))
	repeated, last := uint32(0), entry{} // number of repetitions of the last entry, and the entry, if it can be repeated
	for i := k.first; i != none; i = m.next[i] {
		op := &ops[i]
		cost := min(op.Charges[0].Cost, maxUnits)
		if op.Kind == engine.OpPeek || cost == 0 {
			continue
		}
		e := entry{kind: op.Kind, cost: cost}
		if op.Kind != engine.OpGive && e == last {
			repeated++
			binary.BigEndian.PutUint32(b[len(b)-4:], repeated)
			continue
		}
		repeated, last = 1, e
		b = append(b, byte(op.Kind))
		b = appendInt(b, 7, cost)
		b = appendInt(b, 4, 1)
	}
	return b
}

// entry is the kind and cost of an operation. Consecutive operations with equal entries are encoded once, with the
// number of repetitions, unless they are gives.
type entry struct {
	kind engine.Kind
	cost int64
}

// encodeEach encodes a call whose operations are decided one by one: the keys of
// all operations, and then one argument for each operation.
func (p *pipeline) encodeEach(c *scriptCall, now int64) {
	if c.template == single && len(c.ops) > 1 {
		p.sortByKey(c.ops)
	}
	for _, i := range c.ops {
		p.store.appendKeys(p.text, &p.ops[i], p.endArg)
	}
	for _, i := range c.ops {
		p.endArg(p.encodeOp(p.text, &p.ops[i], now, c.template), false)
	}
}

// encodeOp appends an operation in the form that its script reads: its kind, the number of limits (unless the
// template's operations have one limit each), and each limit, preceded by its family. All numbers are big-endian.
func (p *pipeline) encodeOp(b []byte, op *engine.Op, now int64, t template) []byte {
	b = append(b, byte(op.Kind)|bit(p.denied > 0)<<7)
	switch t {
	case single:
	case reserve:
		b = encodeLimits(append(b, leadingStrings(op)), op)
	case several:
		b = encodeLimits(b, op)
	default:
		b = append(b, byte(len(op.Charges)))
	}
	if t == permits {
		b = append(b, byte(len(op.ID)))
		b = append(b, op.ID...)
	}
	if p.denied > 0 {
		b = appendInt(b, 7, p.denied)
	}
	switch op.Kind {
	case engine.OpReserve:
		b = p.encodeTerm(append(b, bit(op.Delaying() && !p.undelayed)), op)
	case engine.OpSettle:
		b = encodeStage(b, op)
	}
	for i := range op.Charges {
		c := &op.Charges[i]
		l := c.Limit.Numbers()
		b = append(b, byte(families[l.Algorithm]))
		if t != lookup {
			b = encodeCharge(b, l, min(c.Cost, maxUnits), now)
			switch {
			case l.Algorithm.Divides():
				b = binary.BigEndian.AppendUint64(b, op.KeyHash(i))
			case l.Algorithm.Adapts():
				b = encodeReport(b, c.Report)
			}
		}
		if t == reserve && l.Algorithm.Holds() {
			b = append(append(b, byte(len(op.ID))), op.ID...)
		}
		switch {
		case op.Kind == engine.OpGive:
			b = appendInt(b, 8, handleMicros(op.Handle))
		case op.Kind == engine.OpReserve:
			b = appendInt(b, 8, l.LongestDelay(op.Ahead.Microseconds()))
		case op.Kind == engine.OpSettle && op.Reservation.Term == nil:
			b = encodeHeld(b, &op.Reservation.Limits[i].Held)
		case op.Kind == engine.OpAtMost && t == single:
			b = appendInt(appendInt(b, 2, op.Share), 2, op.Ahead.Milliseconds())
		}
	}
	return b
}

// leadingStrings returns the number of keys that the script of a reserve or settle reads with one MGET, counted
// from the first key. The last of them is the last key that holds a string: a state, a record of returned units, or
// the mark of a settled reservation. A history is only read in part, so the first history and all keys after it are
// excluded. leadingStrings returns 0 if MGET would read at most one string.
func leadingStrings(op *engine.Op) byte {
	keys, last, found := 0, 0, 0
	if op.Kind == engine.OpSettle && op.Reservation.Term == nil {
		keys, last, found = 1, 1, 1
	}
	for i := range op.Charges {
		value := fragments[families[op.Charges[i].Limit.Algorithm()]].stored
		if value == storedHistory {
			break
		}
		keys++
		switch value {
		case storedHolders:
			keys++
		case storedString:
			last, found = keys, found+1
		}
		if keepsReturns(op, i) {
			keys++
			last, found = keys, found+1
		}
	}
	if found < 2 {
		return 0
	}
	return byte(last)
}

// encodeLimits appends the operation's number of limits. If the operation has choices, it adds 128 to the number, and
// appends the choice of each limit.
func encodeLimits(b []byte, op *engine.Op) []byte {
	if !op.Chosen() {
		return append(b, byte(len(op.Charges)))
	}
	b = append(b, 128+byte(len(op.Charges)))
	for i := range op.Charges {
		b = append(b, op.Charges[i].Choice)
	}
	return b
}

// encodeTerm appends the term of a reserve in µs, or 0 if it has none. After a term it appends the id and the encoded
// reservation, which the store keeps for clients.
func (p *pipeline) encodeTerm(b []byte, op *engine.Op) []byte {
	if op.Term == nil {
		return appendInt(b, 7, 0)
	}
	b = append(append(appendInt(b, 7, op.Term.Within.Microseconds()), byte(len(op.ID))), op.ID...)
	p.body = op.Reserving("").AppendTo(p.body[:0]) // without the id, because the reservation is stored under the id
	return append(appendInt(b, 2, int64(len(p.body))), p.body...)
}

// encodeStage appends the kind of settlement. For a reservation without a term, it appends 0 and the end of the
// reservation. Otherwise it appends the stage (from 1) and the reservation's id.
func encodeStage(b []byte, op *engine.Op) []byte {
	if op.Reservation.Term == nil {
		return appendInt(append(b, 0), 8, op.Reservation.Ends)
	}
	return append(append(b, byte(op.Stage)+1, byte(len(op.ID))), op.ID...)
}

// handleMicros returns a handle in µs since 1970, or -WORD if there is none: 0 is an instant too.
func handleMicros(handle time.Time) int64 {
	if handle.IsZero() {
		return -1 << 53
	}
	return handle.UnixMicro()
}

// encodeHeld appends the reservation's part for one limit.
func encodeHeld(b []byte, h *algo.Held) []byte {
	b = appendInt(b, 7, min(h.Units, maxUnits))
	return appendInt(appendInt(appendInt(b, 8, h.At), 8, h.Slot), 8, h.Ends)
}

// appendUnits appends a number of up to [algo.MaxUnits], in 6 bytes.
func appendUnits(b []byte, units int64) []byte { return appendInt(b, 6, units) }

// appendInt appends the lowest size bytes of v, big-endian.
func appendInt(b []byte, size int, v int64) []byte {
	var word [8]byte
	binary.BigEndian.PutUint64(word[:], uint64(v))
	return append(b, word[8-size:]...)
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}
