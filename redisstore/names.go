package redisstore

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// leaseUnits is the algorithm in the key of a concurrency limit's second state:
// each holder's units.
const leaseUnits = "concurrency-units"

// appendKeys appends the keys that an operation's script touches, each limit's
// in order, and calls end after each.
func (s *Store) appendKeys(b []byte, op *engine.Op, end func(b []byte, isKey bool)) []byte {
	for i := range op.Charges {
		space, subject := op.Subject(i)
		limit := &op.Charges[i].Limit
		grid := limit.Numbers().Grid()
		b = s.shards.appendSubject(appendHead(b, s.prefix, space, limit.Algorithm().String(), &grid, limit.Name()), subject)
		end(b, true)
		if limit.Algorithm() == algo.Concurrency {
			b = s.shards.appendSubject(appendHead(b, s.prefix, space, leaseUnits, &grid, limit.Name()), subject)
			end(b, true)
		}
	}
	return b
}

// Keys returns the names under which an operation's limits keep their state, in
// order; see docs/design/keys.md. A concurrency limit has two.
func (s *Store) Keys(op *engine.Op) (keys []string) {
	from := 0
	s.appendKeys(nil, op, func(b []byte, _ bool) {
		keys, from = append(keys, string(b[from:])), len(b)
	})
	return keys
}

// Slot returns the Cluster's slot of a key, 0 to 16383.
func Slot(key string) int { return int(slot(key)) }

// slotOf returns the slot of one of an operation's limits; without a Cluster
// all keys are as good as in one.
func (s *Store) slotOf(op *engine.Op, i int) uint16 {
	if !s.conn.Cluster() {
		return 0
	}
	_, subject := op.Subject(i)
	return s.shards.slot(subject)
}

// splits reports whether an operation's limits are on several slots.
func (s *Store) splits(op *engine.Op) bool {
	for i := 1; i < len(op.Charges); i++ {
		if s.slotOf(op, i) != s.slotOf(op, 0) {
			return true
		}
	}
	return false
}
