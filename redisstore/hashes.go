package redisstore

import (
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// hashes is the number of hashes that hold the states of a limit, in each shard. If it is 0, each state has its own
// key.
//
//	headgate/policy:api/token-bucket/default/#7      the eighth hash of the limit
//	headgate/policy:api/token-bucket/default/#7{3}   the same, if there are shards
//
// Each subject has a field, whose value is the subject's state. The field with the empty name is the cursor of the
// sweep: see lua/hash.lua.
type hashes int

// MaxHashes is the largest number of hashes of a limit.
const MaxHashes = 1024

// ParseLayout parses a layout and returns its number of hashes: 0 for "keys", N for "hash:N". The error is an
// [*engine.InputError].
func ParseLayout(text string) (int, error) {
	if text == "keys" {
		return 0, nil
	}
	number, ok := strings.CutPrefix(text, "hash:")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > MaxHashes {
		return 0, &engine.InputError{Field: "layout", Value: strconv.Quote(text), Accepted: "keys, or hash:1 to hash:1024"}
	}
	return n, nil
}

// String returns the layout as text: see [ParseLayout].
func (n hashes) String() string {
	if n == 0 {
		return "keys"
	}
	return "hash:" + strconv.Itoa(int(n))
}

// of returns the index of the Redis hash that holds a subject's state. It depends only on the subject and on n: the
// subject's FNV-1a value, mixed by the first steps of MurmurHash3's fmix64, is scaled from its upper 32 bits to
// [0, n).
func (n hashes) of(subject string) int32 {
	h := uint64(14695981039346656037)
	for i := range len(subject) {
		h = (h ^ uint64(subject[i])) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	return int32((h ^ h>>33) >> 32 * uint64(n) >> 32)
}

// hashed reports whether the states of an algorithm are fields of hashes.
func (s *Store) hashed(a algo.Algorithm) bool {
	return s.hashes > 0 && families[a].merges()
}

// appendHash appends the rest of the name of a subject's hash to a key's head.
func (s *Store) appendHash(b []byte, hash int32, subject string) []byte {
	b = strconv.AppendInt(append(b, '#'), int64(hash), 10)
	if len(s.shards) > 0 {
		b = append(append(append(b, '{'), s.shards.tag(subject)...), '}')
	}
	return b
}

// groupByHash groups the keys of a limit by hash, in order of arrival, and returns the number of hashes.
func (m *merger) groupByHash(l *mergedLimit, n hashes) (groups int) {
	if len(m.lastOf) < int(n) {
		m.lastOf = make([]int32, n)
		for i := range m.lastOf {
			m.lastOf[i] = none
		}
	}
	first, last := m.order[:0], m.lastOf // first contains the first key of each hash, in order of the hashes' appearance
	for k := l.first; k != none; {
		next := m.keys[k].next
		hash := n.of(m.keys[k].subject)
		m.keys[k].hash, m.keys[k].next = hash, none
		if last[hash] == none {
			first = append(first, k)
		} else {
			m.keys[last[hash]].next = k
		}
		last[hash] = k
		k = next
	}
	for i, k := range first {
		hash := m.keys[k].hash
		if i == 0 {
			l.first = k
		} else {
			m.keys[l.last].next = k
		}
		l.last = last[hash]
		last[hash] = none
	}
	m.order = first
	return len(first)
}

// encodeHashed encodes a call of merge.lua like encodeMerged, but groups the keys by hash. It appends the hashes, and
// then, for each limit, its numbers and the sizes of its groups. The fields and the entries of each group follow.
func (p *pipeline) encodeHashed(m *merger, now int64) {
	for i := range m.limits {
		l := &m.limits[i]
		l.groups = m.groupByHash(l, p.store.hashes)
		h := &m.heads[l.head]
		for k, hash := l.first, int32(none); k != none; k = m.keys[k].next {
			if m.keys[k].hash != hash {
				hash = m.keys[k].hash
				b := appendHead(p.text, p.store.prefix, h.space, h.counter.Algorithm.String(), &h.counter.Grid, h.counter.Name)
				p.endArg(p.store.appendHash(b, hash, m.keys[k].subject), true)
			}
		}
	}
	hash := -1
	for i := range m.limits {
		l := &m.limits[i]
		b := encodeMergedLimit(p.text, l, l.groups, now)
		for k := l.first; k != none; {
			next, size := m.groupEnd(k)
			b = appendInt(b, 2, int64(size))
			k = next
		}
		p.endArg(b, false)
		for k := l.first; k != none; {
			next, _ := m.groupEnd(k)
			hash++
			for of := k; of != next; of = m.keys[of].next {
				p.endArg(append(p.text, m.keys[of].subject...), false)
				p.fields = append(p.fields, fieldAt{key: hash, field: m.keys[of].subject})
			}
			p.appendEntries(m, k, next, l.cost)
			k = next
		}
	}
}

// groupEnd returns the key after the group that begins with k, and the size of the group.
func (m *merger) groupEnd(k int32) (next int32, size int) {
	hash := m.keys[k].hash
	for next = k; next != none && m.keys[next].hash == hash; next = m.keys[next].next {
		size++
	}
	return next, size
}

// location is a place that a call writes: a key or, if the key is a hash of states, a field of it.
type location struct{ key, field string }

// fieldAt is a field of a hash. Its key is the index of the hash among a command's keys.
type fieldAt struct {
	key   int
	field string
}

// noteFields records the fields of the operation whose keys were appended last.
func (p *pipeline) noteFields(op *engine.Op) {
	if p.store.hashes == 0 {
		return
	}
	keysOf := func(i int) int {
		if op.Charges[i].Limit.Algorithm().Holds() || keepsReturns(op, i) {
			return 2
		}
		return 1
	}
	at := p.keyCount // the keys of the limits come last
	for i := range op.Charges {
		at -= keysOf(i)
	}
	for i := range op.Charges {
		if p.store.hashed(op.Charges[i].Limit.Algorithm()) {
			_, subject := op.Counted(i)
			p.fields = append(p.fields, fieldAt{key: at, field: subject})
		}
		at += keysOf(i)
	}
}

// places sets p.touched to the locations that the command, which was encoded last, writes to.
func (p *pipeline) places(command *Command) {
	keys, next := command.keys(), 0
	p.touched = p.touched[:0]
	for i, key := range keys {
		from := next
		for ; next < len(p.fields) && p.fields[next].key == i; next++ {
			p.touched = append(p.touched, location{key: key, field: p.fields[next].field})
		}
		if next == from { // not a hash of states
			p.touched = append(p.touched, location{key: key})
		}
	}
}
