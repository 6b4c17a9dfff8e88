package testbed

import (
	"testing"
	"time"
)

// Until polls until done returns true. It fails the test with the description what if that takes longer than 30 s.
func Until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}
