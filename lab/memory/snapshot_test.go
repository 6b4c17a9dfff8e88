package memory

import (
	"testing"

	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/storetest"
)

// TestRestored runs all cases in package storetest on a store that is saved and restored between calls.
func TestRestored(t *testing.T) {
	storetest.Run(t, storetest.Options{New: testbed.NewRestored})
}
