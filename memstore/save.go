package memstore

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	digest "hash"
	"io"

	"github.com/headgate/headgate/engine"
)

// A snapshot starts with a line that contains the format. The hash's secret and the number of shards follow, and then
// blocks. A block starts with its kind: a value of the coordinator, a scope, the keys of a shard, an open reservation,
// or the end, which contains the number of keys. The last part is the SHA-256 of everything before it. Scopes are
// numbered in order of appearance. Integers are encoded as in encoding/binary: as varints, or little-endian if the size
// is fixed.
const (
	snapshotTitle  = "headgate snapshot "
	snapshotFormat = "1\n"

	blockValue = 'V'
	blockScope = 'S'
	blockKeys  = 'K'
	blockOpen  = 'O' // only if reservations are open
	blockEnd   = 'E'
)

// Save writes a snapshot of the keys that have not expired, for [Restore], and returns their number. The store keeps
// deciding in the meantime: each shard is locked only while it is copied, about 20 µs for 1000 keys. Each key's state
// is therefore consistent, but different keys are copied at different instants. The snapshot contains the secret for
// hashing keys: make it readable only by its owner. The snapshot also contains the open reservations and the values of
// the [engine.Coordinator], but not its groups.
//
// Save returns the writer's or the context's error, or [engine.ErrClosed].
func (s *Store) Save(ctx context.Context, to io.Writer) (keys int64, err error) {
	switch {
	case ctx == nil:
		return 0, engine.InvalidInput("ctx", "nil", "a context, such as context.Background()")
	case to == nil:
		return 0, engine.InvalidInput("to", "nil", "a writer, such as an *os.File")
	}
	w := newSnapshotWriter(to)
	w.bytes = append(w.bytes, snapshotTitle+snapshotFormat...)
	w.bytes = binary.LittleEndian.AppendUint64(w.bytes, s.secret[0])
	w.bytes = binary.LittleEndian.AppendUint64(w.bytes, s.secret[1])
	w.bytes = binary.AppendUvarint(w.bytes, uint64(len(s.shards)))
	w.values(&s.coordinator)
	open := s.opens.names() // read before the keys, because the charge of a later reservation may be missing from the copied keys
	for i := range s.shards {
		if err := s.ready(ctx); err != nil {
			return 0, err
		}
		keys += w.shard(s, &s.shards[i])
		if err := w.flush(); err != nil {
			return 0, err
		}
	}
	w.opens(&s.opens, open) // written after the keys, so that a reservation settled in the meantime is not released again
	w.bytes = binary.AppendUvarint(append(w.bytes, blockEnd), uint64(keys))
	return keys, w.end()
}

// snapshotWriter writes blocks and computes their checksum.
type snapshotWriter struct {
	to      *bufio.Writer
	sum     digest.Hash
	bytes   []byte // not written yet
	records []byte // of the keys of a shard
	state   []byte
	scopes  map[*scope]uint64
}

func newSnapshotWriter(to io.Writer) *snapshotWriter {
	return &snapshotWriter{to: bufio.NewWriter(to), sum: sha256.New(), scopes: map[*scope]uint64{}}
}

// shard copies the keys of a shard that have not expired, and returns their number.
func (w *snapshotWriter) shard(s *Store, h *shard) (keys int64) {
	w.records = w.records[:0]
	h.mu.Lock()
	t := s.clock.read(true)
	t.Now = max(t.Now, h.last)
	for i, mark := range h.table.marks {
		if mark < full {
			continue
		}
		if at := h.expires(&s.scopes, i, t); at > t.Now {
			w.key(s, h, i, at)
			keys++
		}
	}
	h.mu.Unlock()
	if keys > 0 {
		w.bytes = binary.AppendUvarint(append(w.bytes, blockKeys), uint64(h.index))
		w.bytes = append(binary.AppendUvarint(w.bytes, uint64(keys)), w.records...)
	}
	return keys
}

// key copies one key: its hash, the number of its scope, and its state. The state is either its two words, or its
// length, its bytes and the expiry.
func (w *snapshotWriter) key(s *Store, h *shard, index int, expires int64) {
	at := &h.table.slots[index]
	scope := w.scope(s.scopes.get(at.number()))
	w.records = binary.LittleEndian.AppendUint64(w.records, at.hi)
	w.records = binary.LittleEndian.AppendUint32(w.records, at.lo)
	w.records = append(w.records, h.table.marks[index])
	w.records = binary.AppendUvarint(w.records, scope)
	if !at.boxed() {
		w.records = append(w.records, 0)
		w.records = binary.LittleEndian.AppendUint64(w.records, at.state[0])
		w.records = binary.LittleEndian.AppendUint64(w.records, at.state[1])
		return
	}
	w.state = h.boxes[at.state[0]].state.Append(w.state[:0])
	w.records = binary.AppendUvarint(append(w.records, 1), uint64(len(w.state)))
	w.records = binary.AppendVarint(append(w.records, w.state...), expires)
}

// scope returns the number of a scope, and writes the scope before its first key.
func (w *snapshotWriter) scope(c *scope) uint64 {
	if n, known := w.scopes[c]; known {
		return n
	}
	n := uint64(len(w.scopes))
	w.scopes[c] = n
	w.bytes = append(w.bytes, blockScope)
	w.texts(c.space, c.limit.String())
	return n
}

func (w *snapshotWriter) texts(texts ...string) {
	for _, text := range texts {
		w.bytes = append(binary.AppendUvarint(w.bytes, uint64(len(text))), text...)
	}
}

func (w *snapshotWriter) values(c *coordinator) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, v := range c.values {
		w.bytes = append(w.bytes, blockValue)
		w.texts(name, v.text)
		w.bytes = binary.AppendVarint(w.bytes, v.version)
	}
}

// opens writes the reservations with these names that are still open.
func (w *snapshotWriter) opens(o *opens, names []hash) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range names {
		k, open := o.of[name]
		if !open {
			continue
		}
		w.bytes = binary.LittleEndian.AppendUint64(append(w.bytes, blockOpen), name.hi)
		w.bytes = binary.LittleEndian.AppendUint64(w.bytes, name.lo)
		w.texts(string(k.encodedReservation))
	}
}

func (w *snapshotWriter) flush() error {
	w.sum.Write(w.bytes)
	_, err := w.to.Write(w.bytes)
	w.bytes = w.bytes[:0]
	return err
}

func (w *snapshotWriter) end() error {
	if err := w.flush(); err != nil {
		return err
	}
	if _, err := w.to.Write(w.sum.Sum(nil)); err != nil {
		return err
	}
	return w.to.Flush()
}
