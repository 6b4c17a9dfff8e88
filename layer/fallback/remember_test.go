package fallback

import (
	"testing"

	"github.com/headgate/headgate/engine/algo"
)

// The remaining units of a key are stored in 32 bits: never rounded up, and rounded down by at most one part in 2^26.
func TestRememberedUnits(t *testing.T) {
	m := newMemory(1)
	for _, units := range []int64{0, 1, 1<<27 - 1, 1 << 27, 1<<27 + 1, 1<<32 - 1, 1 << 32, 1_000_000_000_000, algo.MaxUnits - 1, algo.MaxUnits} {
		m.keep(7, &m.places[0], units, 1)
		got, _, known := m.look(7, &m.places[0])
		if !known || got > units || units-got > units>>26 {
			t.Errorf("%d units are remembered as %d, %t", units, got, known)
		}
	}
}
