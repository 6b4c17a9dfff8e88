package memstore

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	digest "hash"
	"io"
	"io/fs"
	"math/bits"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// ErrSnapshot is returned by Restore for bytes that are not a complete snapshot.
var ErrSnapshot = errors.New("not a snapshot that can be restored")

// Bounds for reading before the checksum is verified.
const (
	maxSnapshotText  = engine.MaxValueBytes
	maxSnapshotState = 64 << 20
)

// Restore returns a store like New, with the keys from a snapshot that [Store.Save] wrote. It drops keys that have
// expired. Charges after the snapshot are lost.
//
// The error matches [ErrSnapshot] if the bytes are from another program or in a later format, truncated or corrupt. It
// is an [*engine.InputError] if a value in c is out of range, or if the snapshot has more keys that have not expired
// than MaxKeys or a bound in MaxKeysOf permits. An [*fs.PathError] of the reader is returned unchanged. On an error,
// the store is nil.
func Restore(c Config, from io.Reader) (*Store, error) {
	if from == nil {
		return nil, engine.InvalidInput("from", "nil", "what Save has written; New without a snapshot")
	}
	s, err := New(c)
	if err != nil {
		return nil, err
	}
	r := &snapshotReader{store: s, sum: sha256.New(), from: bufio.NewReader(from)}
	if err := r.read(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// snapshotReader reads the keys of a snapshot into a store.
type snapshotReader struct {
	store  *Store
	from   *bufio.Reader
	sum    digest.Hash
	now    algo.Instant
	scopes []*scope
	keys   uint64 // in the snapshot, including expired ones

	scratch []byte
	err     error
}

func (r *snapshotReader) read() error {
	r.title()
	r.now = r.store.clock.read(true)
	r.store.secret = secret{r.word(), r.word()}
	r.shards(r.number(maxShards))
	for ended := false; r.err == nil && !ended; {
		switch r.byte() {
		case blockValue:
			r.value()
		case blockScope:
			r.scope()
		case blockKeys:
			r.block()
		case blockOpen:
			r.open()
		case blockEnd:
			ended = true
		default:
			r.wrong()
		}
	}
	if r.number(1<<40) != r.keys {
		r.wrong()
	}
	want := r.sum.Sum(nil)
	if got := r.bytes(len(want)); r.err == nil && !bytes.Equal(got, want) {
		r.wrong()
	}
	if _, err := r.from.ReadByte(); r.err == nil && !errors.Is(err, io.EOF) {
		r.wrong()
	}
	return r.err
}

// wrong records that the snapshot is truncated or corrupt.
func (r *snapshotReader) wrong() {
	if r.err == nil {
		r.err = fmt.Errorf("%w: it is cut off or was changed", ErrSnapshot)
	}
}

// title reads the first line.
func (r *snapshotReader) title() {
	text, err := r.from.ReadSlice('\n') // at most the reader's buffer
	line := string(text)
	format, ours := strings.CutPrefix(line, snapshotTitle)
	switch {
	case !ours && !strings.HasPrefix(snapshotTitle, line):
		r.err = fmt.Errorf("%w: it is not one of this store; accepted: what Save has written", ErrSnapshot)
	case !ours || err != nil:
		r.wrong()
	case format != snapshotFormat:
		r.err = fmt.Errorf("%w: it has format %.16q; accepted: %q", ErrSnapshot, strings.TrimSpace(format), strings.TrimSpace(snapshotFormat))
	}
	r.sum.Write([]byte(line))
}

// shards lowers the number of shards to that of the saved store if the saved store had fewer. The snapshot does not
// contain the hash bits that would be needed to choose among more shards.
func (r *snapshotReader) shards(n uint64) {
	if bits.OnesCount64(n) != 1 {
		r.wrong()
		return
	}
	s := r.store
	keep := min(int(n), len(s.shards))
	s.shards, s.lines = s.shards[:keep], s.lines[:keep]
}

func (r *snapshotReader) value() {
	name := r.text()
	v := value{text: r.text()}
	v.version = r.signed()
	values := r.store.coordinator.values
	if values[name] = v; len(values) > maxNames {
		r.wrong()
	}
}

func (r *snapshotReader) open() {
	name := hash{hi: r.word(), lo: r.word()}
	k := encodedReservation(r.text())
	if r.err != nil {
		return
	}
	of := k.reservation()
	if of == nil || r.store.opens.len() >= engine.MaxOpen {
		r.wrong()
		return
	}
	r.store.opens.add(name, openOf{k, r.store.room.of(of.Space)})
}

func (r *snapshotReader) scope() {
	space := r.text()
	text := r.text()
	if r.err != nil {
		return
	}
	limit, err := engine.ParseLimit(text)
	if err != nil {
		r.err = fmt.Errorf("%w: limit %.100q: %w", ErrSnapshot, text, err)
		return
	}
	r.scopes = append(r.scopes, r.store.scopes.of(space, limit))
}

// block reads the keys of a shard.
func (r *snapshotReader) block() {
	index, n := r.number(maxShards-1), r.number(1<<40)
	h := &r.store.shards[index&uint64(len(r.store.shards)-1)]
	for ; n > 0 && r.err == nil; n-- {
		r.key(h)
	}
	h.publish()
}

func (r *snapshotReader) key(h *shard) {
	key := slot{hi: r.word()}
	key.lo = binary.LittleEndian.Uint32(r.bytes(4))
	mark, number, kind := r.byte(), r.number(1<<32), r.number(1)
	if number >= uint64(len(r.scopes)) || mark < full {
		r.wrong()
		return
	}
	c, b := r.scopes[number], box{}
	limit := c.limit.Numbers()
	switch {
	case kind == 1:
		state, err := algo.DecodeState(r.bytes(int(r.number(maxSnapshotState))))
		if err != nil || !state.Of(limit.Algorithm) {
			r.wrong()
		}
		b = box{state: state, expires: r.signed()}
	case limit.Algorithm.TwoWords():
		key.state = algo.Words{r.word(), r.word()}
		b.expires = key.state.Expires(limit, r.now)
	default:
		r.wrong()
	}
	r.keys++
	if r.err == nil && b.expires > r.now.Now {
		r.put(h, c, key, mark, &b)
	}
}

// put stores a key and its state in the shard if there is room. A boxed state stays boxed, because its rate can differ
// from the scope's.
func (r *snapshotReader) put(h *shard, c *scope, key slot, mark uint8, b *box) {
	s := r.store
	if !c.share.reserve() {
		r.err = &engine.InputError{Field: "max_keys", Value: fmt.Sprint(s.room.most), Accepted: "more: the snapshot has more keys than that"}
		return
	}
	if h.table.crowded() {
		h.renew(s, r.now)
	}
	key.scope = s.scopes.enter(c).id
	if !b.state.Absent() {
		key.state = algo.Words{h.box(*b)}
		key.scope |= boxed
		s.scopes.count(&key, &b.state)
	}
	i := h.table.add(key.hi, mark)
	h.table.slots[i] = key
	h.note(i, b.expires)
}

// bytes reads n bytes, which are valid until the next call. After an error it returns zero bytes.
func (r *snapshotReader) bytes(n int) []byte {
	if cap(r.scratch) < n {
		r.scratch = make([]byte, n)
	}
	b := r.scratch[:n]
	if r.err == nil {
		_, err := io.ReadFull(r.from, b)
		r.check(err)
	}
	if r.err != nil {
		clear(b)
	}
	r.sum.Write(b)
	return b
}

func (r *snapshotReader) text() string { return string(r.bytes(int(r.number(maxSnapshotText)))) }

func (r *snapshotReader) byte() byte { return r.bytes(1)[0] }

func (r *snapshotReader) word() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }

// number reads a number from 0 to most.
func (r *snapshotReader) number(most uint64) uint64 {
	n, err := binary.ReadUvarint(r)
	if r.check(err); n > most {
		r.wrong()
	}
	if r.err != nil {
		return 0
	}
	return n
}

func (r *snapshotReader) signed() int64 {
	n, err := binary.ReadVarint(r)
	r.check(err)
	return n
}

// ReadByte implements [io.ByteReader], for reading varints.
func (r *snapshotReader) ReadByte() (byte, error) {
	b := r.byte()
	return b, r.err
}

// check keeps the first error. Any error except an [*fs.PathError], such as an unexpected end or an overlong number,
// means that the snapshot is truncated or corrupt.
func (r *snapshotReader) check(err error) {
	_, fromSystem := errors.AsType[*fs.PathError](err)
	switch {
	case err == nil || r.err != nil:
	case fromSystem:
		r.err = err
	default:
		r.wrong()
	}
}
