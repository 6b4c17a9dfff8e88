package conform

import (
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
)

// A log counts what its last version counted: a longer window does not bring back entries
// that had left the shorter one and are not dropped yet.
func TestBoundsOfLongerWindow(t *testing.T) {
	t.Parallel()
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	short, long := headgate.SlidingLog(headgate.PerSecond(5)), headgate.SlidingLog(headgate.Per(5, 3*time.Second))
	takeOne(store, "k", short)
	clock.Advance(900 * time.Millisecond)
	takeOne(store, "k", short)
	clock.Advance(600 * time.Millisecond)
	if r := takeOne(store, "k", long); r.Err != nil || r.Outcome.Remaining != 3 {
		t.Errorf("%+v, %v; want 3 of 5 left: the entry of 1.5 s ago had left the window of a second", r.Outcome, r.Err)
	}
}
