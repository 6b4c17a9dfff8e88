package policy

import (
	"strings"
	"testing"
	"time"
)

// TestZonesExist checks that each zone in the list for hints can be loaded.
func TestZonesExist(t *testing.T) {
	zones := strings.Fields(zonesText)
	if len(zones) < 400 {
		t.Fatalf("%d zones", len(zones))
	}
	for _, zone := range zones {
		if _, err := time.LoadLocation(zone); err != nil {
			t.Error(err)
		}
	}
}
