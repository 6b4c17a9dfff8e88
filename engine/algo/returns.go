package algo

import (
	"encoding/binary"
	"slices"
)

// Returns is the encoded record of the units that settlements have recently given back to one bucket. If they have
// given back no units, it is empty. A store keeps it apart from the bucket's state, because only settlements need
// it, and because it outlives the state of a bucket that has refilled.
//
// [Held.Ends] of a reservation assumes that earlier charges of the bucket refill first. When one of them is given
// back, the later ones refill sooner. A settlement therefore subtracts the units that were given back for earlier
// charges since its own charge.
//
// The encoding consists of a byte for the format, the number of parts of a token, and 54 bytes for each return.
// Integers are big-endian. The scripts of package redisstore read and write the same bytes.
type Returns string

const (
	returnsFormat = 2
	returnsHead   = 8
	returnBytes   = 54

	// MaxReturns is the maximum number of returns in a record. If there would be more, the two returns that are closest
	// in time are merged.
	MaxReturns = 16
	// mostReturned bounds the units of one return, which scripts count in doubles.
	mostReturned = 1<<53 - 1
	// noPlace is the place of a return that affects all charges of its first instant. The waits field also has this
	// value if no caller was waiting.
	noPlace = -1 << 53
)

// returned describes units given back for one charge, or the sum of several returns. It affects the charges made
// after the first charge whose units were given back, up to the last return.
type returned struct {
	// from is the instant of the first charge. place is that charge's Held.Ends, which orders the charges of one
	// instant.
	from, place int64
	until       int64 // the instant of the last return
	// ends is the instant when all affected charges have refilled. A charge made before the return, even at the same
	// instant, has no later Held.Ends.
	ends int64
	// waits is the latest slot that a waiting caller may have got before the return.
	waits  int64
	amount uint128 // in 1/period token
}

// affects reports whether the reservation was charged after the returned units had been charged, and before they were
// returned.
func (r *returned) affects(h *Held) bool {
	after := r.from < h.At || r.from == h.At && r.place < h.Ends
	return after && (h.At < r.until || h.At == r.until && (r.place == noPlace || h.Ends <= r.ends))
}

// covers reports whether a return may have happened at the instant of the reservation's charge. If so, the order of the
// return and the charge is not known.
func (r *returned) covers(h *Held) bool {
	return r.from <= h.At && h.At <= r.until && (h.At == r.until || r.place == noPlace)
}

// Ends returns the instant from which the record no longer has an effect.
func (r Returns) Ends() (at int64) {
	for i, one := range r.list(1, noPlace) {
		if i == 0 || at < one.ends {
			at = one.ends
		}
	}
	return at
}

// valid reports whether the bytes are a valid record.
func (r Returns) valid() bool {
	return len(r) > returnsHead && (len(r)-returnsHead)%returnBytes == 0 && r[0] == returnsFormat && r[1:returnsHead] != "\x00\x00\x00\x00\x00\x00\x00"
}

// list returns the returns that have an effect after now, in order, with amounts in 1/period token. An amount stored in
// other parts is converted and rounded up, against the caller.
func (r Returns) list(period, now int64) (all []returned) {
	if !r.valid() {
		return nil
	}
	b := []byte(r)
	parts := int64(binary.BigEndian.Uint64(b) & (1<<56 - 1))
	for b = b[returnsHead:]; len(b) > 0; b = b[returnBytes:] {
		word := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
		one := returned{from: word(0), place: word(8), until: word(16), ends: word(24), waits: word(32)}
		part := word(46) & (1<<56 - 1)
		if parts != period {
			part = product(part, period).ceilOver(parts)
		}
		one.amount = product(word(39)&(1<<56-1), period).plus(uint128{lo: uint64(part)})
		if one.ends > now {
			all = append(all, one)
		}
	}
	return all
}

// returnsOf encodes a record.
func returnsOf(all []returned, period int64) Returns {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, returnsHead+returnBytes*len(all)), uint64(period))
	b[0] = returnsFormat
	for i := range all {
		one := &all[i]
		whole, part := one.amount.over(period)
		for _, word := range [...]int64{one.from, one.place, one.until, one.ends, one.waits} {
			b = binary.BigEndian.AppendUint64(b, uint64(word))
		}
		for _, number := range [...]int64{min(whole, mostReturned), part} {
			word := binary.BigEndian.AppendUint64(nil, uint64(number))
			b = append(b, word[1:]...)
		}
	}
	return Returns(b)
}

// earlier returns the amount that was given back for earlier charges since the reservation was charged.
func earlier(all []returned, h *Held) (sum uint128) {
	for i := range all {
		if all[i].affects(h) {
			sum = sum.plus(all[i].amount)
		}
	}
	return sum
}

// waited returns the total amount given back since the reservation was charged. It counts a return only if a caller
// that was waiting at the time of the return may still be waiting now.
func waited(all []returned, now int64, h *Held) (sum uint128) {
	for i := range all {
		if r := &all[i]; h.At <= r.until && now < r.waits {
			sum = sum.plus(r.amount)
		}
	}
	return sum
}

// added adds a return to the list. ordered is set if charges of one instant have increasing Ends.
func added(all []returned, one returned, h *Held, ordered bool) []returned {
	one.from, one.place = h.At, noPlace
	if ordered && !slices.ContainsFunc(all, func(r returned) bool { return r.covers(h) }) {
		one.place = h.Ends
	}
	for i := range all {
		if all[i].until == one.until {
			one.ends = max(one.ends, all[i].ends)
		}
	}
	all = append(all, one)
	if len(all) <= MaxReturns {
		return all
	}
	closest := 0
	for i := range len(all) - 1 {
		if all[i+1].until-all[i].until < all[closest+1].until-all[closest].until {
			closest = i
		}
	}
	a, b := &all[closest], &all[closest+1]
	b.from, b.place = min(a.from, b.from), noPlace
	b.until, b.ends, b.waits = max(a.until, b.until), max(a.ends, b.ends), max(a.waits, b.waits)
	b.amount = a.amount.plus(b.amount)
	return slices.Delete(all, closest, closest+1)
}

// StoredReturns returns a state that contains a record as the id of a permit, for stores that keep only states. As a
// result, snapshots need no other encoding, and builds that do not know the record can restore it too.
func StoredReturns(r Returns) State {
	p := newPermits()
	id := string(r)
	p.list, p.expiry[id] = []lease{{expires: r.Ends(), id: id}}, r.Ends() // its number of units is 0
	return State{algorithm: Concurrency, permits: permits{p}}
}

// ReturnsIn returns the record in a state from StoredReturns.
func ReturnsIn(s *State) Returns {
	if s.permits.Permits == nil || len(s.permits.list) == 0 {
		return ""
	}
	return Returns(s.permits.list[0].id)
}

// KeepsReturns reports whether settlements under the algorithm's limits need the record of returns.
func (a Algorithm) KeepsReturns() bool { return traits[a].keepsReturns }
