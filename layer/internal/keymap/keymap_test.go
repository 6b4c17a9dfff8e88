package keymap_test

import (
	"strconv"
	"testing"

	"github.com/headgate/headgate/layer/internal/keymap"
)

// A map never has more entries than its bound, and removable entries make room for others.
func TestMapIsBounded(t *testing.T) {
	const most = 10 * keymap.Shards
	table := keymap.New[string, int](most)
	add := func(from, to, value int, over func(int) bool) (added int) {
		for i := from; i < to; i++ {
			key := strconv.Itoa(i)
			h := table.Of(key)
			h.Lock()
			if h.HasRoom(over) {
				h.Known[key] = value
				added++
			}
			h.Unlock()
		}
		return added
	}
	count := func() (n int) {
		for h := range table.All() {
			n += len(h.Known)
		}
		return n
	}
	never := func(int) bool { return false }
	if n := add(0, 100*most, 1, never); n != most || count() != most {
		t.Fatalf("%d were added and %d are there, want %d", n, count(), most)
	}
	if h := table.Of("0"); h != table.Of("0") {
		t.Error("one key is in two shards")
	}
	if n := add(100*most, 101*most, 2, never); n != 0 {
		t.Errorf("%d were added while no entry is over", n)
	}
	if n := add(100*most, 101*most, 2, func(v int) bool { return v == 1 }); n < most/2 || count() > most {
		t.Errorf("%d were added while all entries are over, %d are there", n, count())
	}
	for range table.All() {
		break // an iteration can stop early
	}
}
