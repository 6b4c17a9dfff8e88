package algo

import (
	"encoding/binary"
	"errors"
)

// Append appends the state's encoding, which [DecodeState] reads. Snapshots of a store use it. Equal states have equal
// encodings, and an empty state takes one byte.
func (s *State) Append(to []byte) []byte {
	return s.algorithm.entry().on(s).append(append(to, byte(s.algorithm)))
}

// integers appends integers in a variable-length encoding.
func integers(to []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		to = binary.AppendVarint(to, n)
	}
	return to
}

func (u uint128) append(to []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(to, u.hi), u.lo)
}

// append writes each item as its distance from the previous item.
func (h *history) append(to []byte) []byte {
	to = integers(to, h.gone, int64(len(h.live())))
	at, total := int64(0), int64(0)
	for _, it := range h.live() {
		to = integers(to, it.at-at, it.total-total)
		at, total = it.at, it.total
	}
	return to
}

func (s *Permits) append(to []byte) []byte {
	to = integers(to, s.latest, int64(len(s.list)))
	for _, e := range s.list {
		to = append(integers(to, e.expires, e.length, e.cost, int64(len(e.id))), e.id...)
	}
	return to
}

// errEncoding is returned for bytes that are not a valid state.
var errEncoding = errors.New("algo: these bytes are no state")

// DecodeState decodes bytes from Append. It returns an error for invalid or extra bytes.
func DecodeState(from []byte) (State, error) {
	if len(from) == 0 {
		return State{}, errEncoding
	}
	s, d := State{algorithm: Algorithm(from[0])}, decoder{rest: from[1:]}
	switch {
	case s.algorithm >= algorithmCount:
		d.failed = true
	case !s.Absent():
		s.algorithm.entry().on(&s).decode(&d)
	}
	if d.failed || len(d.rest) > 0 {
		return State{}, errEncoding
	}
	return s, nil
}

// decoder reads numbers until one is invalid. After that it returns 0.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) integer() int64 {
	n, size := binary.Varint(d.rest)
	return int64(d.read(uint64(n), size))
}

// read consumes a number's bytes. A number encoded in more bytes than needed is invalid, because equal states must have
// equal encodings.
func (d *decoder) read(n uint64, size int) uint64 {
	if d.failed || size <= 0 || size > 1 && d.rest[size-1] == 0 {
		d.failed = true
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// natural reads a number that is 0 or more, and positive reads a number above 0.
func (d *decoder) natural() int64 {
	n := d.integer()
	d.failed = d.failed || n < 0
	return n
}

func (d *decoder) positive() int64 {
	n := d.natural()
	d.failed = d.failed || n == 0
	return n
}

func (d *decoder) uint128() uint128 {
	word := func() uint64 { return d.read(binary.Uvarint(d.rest)) }
	hi := word()
	return uint128{hi: hi, lo: word()}
}

// count reads the number of items that follow. Each item takes at least leastBytes bytes.
func (d *decoder) count(leastBytes int) int64 {
	n := d.natural()
	if n > int64(len(d.rest)/leastBytes) {
		d.failed = true
	}
	if d.failed {
		return 0
	}
	return n
}

// history reads items with ascending places and non-decreasing totals. The first total can be negative if totals have
// restarted from 0.
func (d *decoder) history() (h history) {
	h.gone = d.natural()
	n := d.count(2)
	h.items = make([]item, 0, n)
	at, total := int64(0), int64(0)
	for i := range n {
		step, more := d.integer(), d.integer()
		wrong := i > 0 && (step <= 0 || more < 0) || overflows(at, step) || overflows(total, more)
		if d.failed = d.failed || wrong; d.failed {
			return history{}
		}
		at, total = at+step, total+more
		h.items = append(h.items, item{at: at, total: total})
	}
	return h
}

func overflows(a, b int64) bool { return b > 0 && a+b < a || b < 0 && a+b > a }

// permits reads permits, which must be ordered by expiry and have different holders.
func (d *decoder) permits() *Permits {
	s := newPermits()
	s.latest = d.integer()
	for range d.count(4) {
		e := lease{expires: d.integer(), length: d.natural(), cost: d.natural()}
		size := d.count(1)
		if d.failed || overflows(s.held, e.cost) || len(s.list) > 0 && e.expires < s.list[len(s.list)-1].expires {
			d.failed = true
			return s
		}
		e.id, d.rest = string(d.rest[:size]), d.rest[size:]
		if _, twice := s.expiry[e.id]; twice {
			d.failed = true
			return s
		}
		s.list, s.expiry[e.id], s.held = append(s.list, e), e.expires, s.held+e.cost
	}
	return s
}
