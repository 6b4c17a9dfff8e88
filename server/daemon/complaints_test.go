package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestComplaints: an outage is logged once a second, with what was left out.
func TestComplaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := &complaints{logger: slog.New(slog.NewTextHandler(&log, nil))}
		for range 1000 {
			c.add(errors.New("away"))
			time.Sleep(2500 * time.Microsecond)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 3 || !strings.Contains(lines[0], "left_out=0") || !strings.Contains(lines[1], "left_out=399") {
			t.Errorf("%d lines for 2.5 s:\n%s", len(lines), log.String())
		}
	})
}
