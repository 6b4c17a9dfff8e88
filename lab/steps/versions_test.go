package steps

import (
	"testing"

	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/lab/rolling"
	"github.com/headgate/headgate/memstore"
)

// Two or three versions of a limit with random parameters use one counter in random order, while the clock advances,
// goes back a little, and goes back far. The bounds of rules 8 and 10 hold at every step (regression: bugs 40 and 49).
func TestVersions(t *testing.T) {
	clock := headgatetest.NewClock()
	memory, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	rolling.Run(t, memory, clock, *rolling.Interleavings)
}
