package model

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// TestCalendarAgrees checks that the model agrees with the steps, which compute windows independently. It includes
// zones whose clocks change by fractions of an hour.
func TestCalendarAgrees(t *testing.T) {
	units := map[string]algo.Unit{"1m": algo.Minute, "1h": algo.Hour, "1d": algo.Day, "1w": algo.Week, "1mo": algo.Month, "1y": algo.Year}
	r := rand.New(rand.NewPCG(47, 0))
	for _, name := range []string{
		"Australia/Lord_Howe", "Africa/Monrovia", "Asia/Kathmandu", "Asia/Pyongyang", "America/Caracas", "Asia/Colombo", "Asia/Kolkata",
		"America/St_Johns", "America/Havana", "America/Sao_Paulo", "America/Santiago", "Pacific/Apia", "Pacific/Kiritimati", "Antarctica/Troll",
		"Antarctica/Casey", "Europe/Berlin", "Europe/Amsterdam", "America/New_York", "Pacific/Chatham", "America/Guyana", "UTC",
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		start, end := time.Date(1930, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(2041, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		for at := start; at < end; at += 12 * 3600 {
			_, before := time.Unix(at, 0).In(zone).Zone()
			_, after := time.Unix(at+12*3600, 0).In(zone).Zone()
			tries := 1
			if before != after {
				tries = 6
			} else if r.IntN(100) > 0 {
				continue
			}
			for range tries {
				now := at*1e6 + r.Int64N(16*3600*1e6)
				anchor := []string{"", "2026-01-31", "2024-02-29T17:30", "2026-11-23T02:30"}[r.IntN(4)]
				own, _ := algo.ParseAnchor(anchor)
				for unit, u := range units {
					from, to := calendarWindow(unit, name, anchor, now)
					if f, e := algo.CalendarWindow(u, zone, own, now); f != from || e != to {
						t.Errorf("%s from %s in %s at %d: the model says [%d, %d), the steps [%d, %d)", unit, anchor, name, now, from, to, f, e)
					}
				}
			}
		}
	}
}
