package redis

import (
	"os"
	"testing"

	"github.com/headgate/headgate/conform/testbed"
)

// TestMain runs the tests. In a process that a test has started, it only sends that test's operations to a store.
func TestMain(m *testing.M) {
	if url := os.Getenv(askerURL); url != "" {
		os.Exit(ask(url))
	}
	testbed.Main(m)
}
