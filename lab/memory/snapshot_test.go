package memory

import (
	"testing"

	"github.com/headgate/headgate/lab/scenarios"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/storetest"
)

// TestRestored runs all cases of storetest and scenarios on a store that is saved and restored between calls.
func TestRestored(t *testing.T) {
	scenarios.Run(t, storetest.Options{New: testbed.NewRestored})
}
