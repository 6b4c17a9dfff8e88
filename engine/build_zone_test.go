package engine

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// Regression: bug 122. A static program without zone data was told that Europe/Paris is not accepted, and that
// Europe/Paris is.
func TestZonesWithoutData(t *testing.T) {
	none := func(string) (*time.Location, error) { return nil, errors.New("unknown time zone") }
	if text := alignAccepted(none); !strings.Contains(text, "time/tzdata") || strings.Contains(text, "Europe") {
		t.Error(text)
	}
	if text := alignAccepted(time.LoadLocation); text != "first, clock, or an IANA time zone such as Europe/Paris" {
		t.Error(text)
	}
}
