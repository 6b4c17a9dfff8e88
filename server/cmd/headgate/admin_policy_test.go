package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/adminapi"
)

// TestChangeText checks that a change is shown with its author and with the user that made it.
func TestChangeText(t *testing.T) {
	c := adminapi.Change{Fields: json.RawMessage(`{"limit":5}`), Author: "eve", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	const before, after = `{"limit":5} by eve`, " at 2026-01-02T03:04:05Z"
	if got := changeText(&c); got != before+after {
		t.Error(got)
	}
	if c.User = "operate"; changeText(&c) != before+" (user operate)"+after {
		t.Error(changeText(&c))
	}
}
