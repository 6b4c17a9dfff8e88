package conform

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain makes a goroutine that outlives the tests a failure.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
