package engine

import (
	"crypto/sha256"
	"encoding/binary"
)

// Pool is the common state of all keys of a limit that divides its units among them. It is derived from answers to
// peeks.
type Pool struct {
	// Burst is the total number of units: the size of the bucket, including a fair pacer's queue, or the number of
	// permits. Outstanding is the number of units that have not refilled yet or, for permits, are held.
	Burst, Outstanding int64
	// OfKey estimates the number of outstanding units of this key. It can be too large by up to the key's weight. For a
	// key with nothing remaining, it is a lower bound. HeavyKeys estimates the number of keys of weight 1 that request
	// more than they get. For a nested limit, OfKey counts the units of the key's group, and can be too large by up to
	// 9/8 of the weight plus 9/8. HeavyKeys then counts groups. For permits, OfKey is exact, and HeavyKeys is the number of keys
	// with many permits ([Standing]).
	OfKey, HeavyKeys int64
	// Part is this key's fair part at present: the key is denied once it has this many outstanding units. For a nested
	// limit it is the part of the key's group. For permits it is the largest number that the key can hold now.
	Part int64
}

// Pool derives the state of all keys from the answer to a peek. The argument free is the number of remaining units in
// the answer to the peek of [Limit.UnusedKey], if UnusedKey requires this peek. ok is false if the limit does not divide
// its units.
//
// With a burst of 200, a reset after 150 ms at 1000 a second, and nothing remaining for a key of weight 1, Pool reports
// that 150 units are outstanding, at least 50 of them belong to the key, whose part is 50, and 3 keys request more than
// they get.
func (l Limit) Pool(s *Standing, free int64) (p Pool, ok bool) {
	n := l.Numbers()
	switch {
	case !n.Algorithm.Divides():
		return p, false
	case n.Algorithm.Holds():
		return Pool{Burst: n.Count, Outstanding: s.HeldByAll, OfKey: s.HeldByKey, HeavyKeys: s.HeavyKeys, Part: s.HeldByKey + s.Remaining}, true
	}
	room := (n.Weight + 1) * s.Remaining
	if n.Nested {
		room = (n.Weight + 1) * free * 9 / 8 // because a key can get 8/9 of its group's room
	}
	p.Burst = n.Burst + n.Queue
	p.Outstanding = min(p.Burst, n.Refilled(s.ResetAfter.Microseconds()))
	free = p.Burst - p.Outstanding
	p.Part = n.Weight * free
	p.OfKey = min(p.Outstanding, max(0, p.Part-room))
	if p.HeavyKeys = p.Burst - 1; free > 0 {
		p.HeavyKeys = min(p.HeavyKeys, p.Burst/free-1)
	}
	return p, true
}

// UnusedKey returns the key for a peek whose Remaining [Limit.Pool] needs as its argument free: for a nested limit, the
// key name in the group of key. name must be a key without units. The Remaining of this peek includes the units left for
// the group. ok is false if Pool needs no such peek.
func (l Limit) UnusedKey(key, name string) (unused string, ok bool) {
	if !l.Numbers().Nested {
		return "", false
	}
	return GroupOf(key) + ":" + name, true
}

// KeyHash returns a hash of the key of the charge at index i, for limits that divide their units among keys. All
// processes compute the same hash. Finding another key with the hash of a given key takes about 2^64 tries. For a
// nested limit, the upper half of the hash identifies the group, and finding a collision with a group, or with a key of
// a group, takes 2^32 tries.
func (o *Op) KeyHash(i int) uint64 {
	_, key := o.Subject(i)
	sum := sha256.Sum256([]byte(key))
	if o.Charges[i].Limit.Numbers().Nested {
		group := sha256.Sum256([]byte(GroupOf(key)))
		copy(sum[:4], group[:])
	}
	return binary.BigEndian.Uint64(sum[:])
}

// GroupOf returns the group of a key under a nested limit: its first part, up to the first colon that is not escaped
// with a backslash, or the whole key.
func GroupOf(key string) string {
	for i := 0; i < len(key); i++ {
		switch key[i] {
		case '\\':
			i++
		case ':':
			return key[:i]
		}
	}
	return key
}
