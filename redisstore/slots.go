package redisstore

import (
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
)

// Slots is the number of slots of a Cluster.
const Slots = 16384

// Slot returns the slot of a key on a Cluster, 0 to 16383.
func Slot(key string) int { return int(slotOfKey(key)) }

// SlotOf returns the slot of a Cluster that contains the state for one of an operation's charges.
func (s *Store) SlotOf(op *engine.Op, charge int) int { return int(s.slotOf(op, charge)) }

// slotOf returns the slot of the state for charge i of an operation.
func (s *Store) slotOf(op *engine.Op, i int) uint16 {
	_, subject := op.Counted(i)
	return s.shards.slot(subject)
}

// spansSlots reports whether an operation's limits are on several slots of a Cluster, or whether the key that marks its
// reservation as settled is on another slot.
func (s *Store) spansSlots(op *engine.Op) bool {
	if !s.conn.Cluster() {
		return false
	}
	first := s.slotOf(op, 0)
	if op.Kind == engine.OpSettle && op.Reservation.Term == nil && s.shards.slot(op.Key) != first {
		return true
	}
	for i := 1; i < len(op.Charges); i++ {
		if s.slotOf(op, i) != first {
			return true
		}
	}
	return false
}

// apart returns an error for charges that must be decided in one step but are on several slots. The error names the
// first charge that is on a different slot from the charges before it.
func (s *Store) atomicError(op *engine.Op) error {
	for i := range op.Charges {
		if s.slotOf(op, i) != s.slotOf(op, 0) {
			return op.AtomicError(i)
		}
	}
	return nil
}

// hashTag returns the part of a key that determines its slot: the text between the first "{" and the next "}", if it is
// not empty, and otherwise the whole key (Redis Cluster specification, "Hash tags").
func hashTag(key string) string {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if length := strings.IndexByte(key[open+1:], '}'); length > 0 {
			return key[open+1 : open+1+length]
		}
	}
	return key
}

// slotOfKey returns the slot of a key: CRC-16/XMODEM of its hash tag, modulo 16384.
func slotOfKey(key string) uint16 {
	crc := uint16(0)
	for _, c := range []byte(hashTag(key)) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^c]
	}
	return crc % Slots
}

// crcTable is the table of CRC-16/XMODEM.
var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()

// slotOfSubject returns the slot of a subject's keys in a store without shards.
func slotOfSubject(subject string) uint16 {
	if hashTag(subject) == subject && strings.IndexByte(subject, '}') >= 0 {
		subject = string(appendEscaped(nil, subject, tagEscapes)) // as in its keys
	}
	return slotOfKey(subject)
}

// MaxShards is the largest number of shards.
const MaxShards = 1024

// shards are hash tags that all subjects share. The slots are divided into that many equal ranges, and each range has
// one tag that hashes into it. A subject uses the tag of the range that contains its own slot. Keys with the same tag
// share a script call.
type shards []string

// newShards returns n hash tags: for each range, the smallest number that hashes into it. If n is 0, every subject is
// its own hash tag.
func newShards(n int) shards {
	tags := make(shards, n)
	for missing, number := n, 0; missing > 0; number++ {
		text := strconv.Itoa(number)
		if part := int(slotOfKey(text)) * n / Slots; tags[part] == "" {
			tags[part] = text
			missing--
		}
	}
	return tags
}

func (s shards) tag(subject string) string { return s[int(slotOfKey(subject))*len(s)/Slots] }

// slot returns the slot of a subject's keys.
func (s shards) slot(subject string) uint16 {
	if len(s) == 0 {
		return slotOfSubject(subject)
	}
	return slotOfKey(s.tag(subject))
}
