package memory

import (
	"testing"

	"github.com/headgate/headgate/lab/linearize"
	"github.com/headgate/headgate/memstore"
)

// TestLinearizable records the operations of 64 goroutines on a few keys, with their answers and the store's times. It
// then searches for a sequential order with the same answers.
func TestLinearizable(t *testing.T) {
	for _, limit := range linearize.Limits() {
		t.Run(limit.String(), func(t *testing.T) {
			store, err := memstore.New(memstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			linearize.Check(t, limit, linearize.Record(store, limit, 64))
		})
	}
}
