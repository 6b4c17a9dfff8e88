//go:build !race

package keyhash_test

import "testing"

// TestNoAllocation checks that hashing a key does not allocate. It is not built with the race detector, which makes
// pools drop objects at random.
func TestNoAllocation(t *testing.T) {
	f, err := open(t, one)
	if err != nil {
		t.Fatal(err)
	}
	s, buffer := f.Secrets(), make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { buffer = s.Append(buffer[:0], 0, "ann@example.com") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
