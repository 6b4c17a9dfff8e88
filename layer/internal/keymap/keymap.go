// Package keymap keeps a value for each of a bounded number of keys, for the layers.
package keymap

import (
	"hash/maphash"
	"iter"
	"sync"
)

// Shards is the number of shards of a map.
const Shards = 64

// Map maps names of type K to values. It is divided into shards by key. Use New to create one.
type Map[K comparable, V any] struct {
	seed   maphash.Seed
	shards [Shards]Shard[K, V]
}

// Shard is a part of a map. Its lock guards the fields.
type Shard[K comparable, V any] struct {
	sync.Mutex
	Known map[K]V
	// Recent is a value in Known that a recent search found, or the zero value.
	Recent V
	// Count is a counter for the layer's statistics. A counter that all shards share would move between the cores at
	// each decision.
	Count int64
	room  int
}

// New returns a map with room for at most the given number of names. The number must be at least [Shards].
func New[K comparable, V any](most int) *Map[K, V] {
	t := &Map[K, V]{seed: maphash.MakeSeed()}
	for i := range t.shards {
		t.shards[i].Known, t.shards[i].room = map[K]V{}, most/Shards
	}
	return t
}

// Of returns the shard of a key.
func (t *Map[K, V]) Of(key string) *Shard[K, V] {
	return &t.shards[maphash.String(t.seed, key)%Shards]
}

// All yields all shards.
func (t *Map[K, V]) All() iter.Seq[*Shard[K, V]] {
	return func(yield func(*Shard[K, V]) bool) {
		for i := range t.shards {
			if !yield(&t.shards[i]) {
				return
			}
		}
	}
}

// looks is the number of entries that HasRoom examines to find removable entries.
const looks = 8

// HasRoom reports whether there is room for one more name. If a shard is full, it first examines a few entries, and
// drops those for which over returns true. The examined entries are random, because iteration over a Go map starts at a
// random entry.
func (h *Shard[K, V]) HasRoom(over func(V) bool) bool {
	if len(h.Known) < h.room {
		return true
	}
	left := looks
	for name, known := range h.Known {
		if over(known) {
			delete(h.Known, name)
			h.Recent = *new(V)
		}
		if left--; left == 0 {
			break
		}
	}
	return len(h.Known) < h.room
}
