package redis

import (
	"os"
	"testing"

	"github.com/headgate/headgate/lab/testbed"
)

// TestMain runs the tests. In a process started by a test, it performs the test's task instead.
func TestMain(m *testing.M) {
	if url := os.Getenv(askerURL); url != "" {
		os.Exit(ask(url))
	}
	testbed.Main(m)
}
