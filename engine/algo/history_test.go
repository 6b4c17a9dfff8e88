package algo

import "testing"

// Totals restart at 0 long before they would overflow.
func TestTotalsRestartBeforeOverflow(t *testing.T) {
	h := history{gone: rebaseAt}
	h.add(1, 5)
	h.add(2, 7)
	h.add(3, 11)
	h.drop(2)
	if h.gone != 0 || h.total() != 18 || h.since(3) != 11 || h.at(2) != 7 {
		t.Errorf("gone %d, total %d, since 3: %d, at 2: %d; want 0, 18, 11, 7", h.gone, h.total(), h.since(3), h.at(2))
	}
}

// A history never holds more than twice as many items as are still in use.
func TestHistoryReclaimsDroppedItems(t *testing.T) {
	const kept = 10
	var h history
	for at := range int64(1000) {
		h.drop(at - kept + 1)
		h.add(at, 1)
		if len(h.items) > 2*kept+1 {
			t.Fatalf("%d items for %d that count", len(h.items), len(h.live()))
		}
	}
	if h.total()-h.gone != kept {
		t.Errorf("%d units count, want %d", h.total()-h.gone, kept)
	}
}
