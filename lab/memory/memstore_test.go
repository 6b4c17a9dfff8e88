package memory

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/scenarios"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/storetest"
)

func TestMemstore(t *testing.T) {
	scenarios.Run(t, storetest.Options{New: func(t *testing.T, now func() time.Time) engine.Store {
		t.Helper()
		store, err := memstore.New(memstore.Config{Clock: now, MaxKeys: testbed.Keys})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		return store
	}})
}

// TestMemstoreCoordinator runs the test suite for coordinators.
func TestMemstoreCoordinator(t *testing.T) {
	storetest.RunCoordinator(t, storetest.CoordinatorOptions{New: func(t *testing.T, now func() time.Time) storetest.Coordinating {
		store, err := memstore.New(memstore.Config{Clock: now, MaxKeys: testbed.Keys})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}})
}
