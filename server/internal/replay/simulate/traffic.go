package simulate

import "time"

// Limits on the number of slots: while counting, and in a report.
const (
	maxSlots = 4096
	maxShown = 240
)

// Slot counts the requests in one time slot.
type Slot struct {
	Passed int64 `json:"passed"`
	Denied int64 `json:"denied"`
}

// Traffic counts requests in time slots of equal width. The width grows with the length of the log, so that there are
// at most 4096 slots.
type Traffic struct {
	// Start is the start of the first slot, in µs since 1970. Width is the width of a slot in µs.
	Start int64  `json:"start_us"`
	Width int64  `json:"width_us"`
	Slots []Slot `json:"slots"`
}

// widths are the possible slot widths in seconds. Each is a multiple of the previous one, so that slots can be merged.
var widths = []int64{1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 86400}

const micros = int64(time.Second / time.Microsecond)

// at returns the slot for a time. Times must not decrease.
func (t *Traffic) at(now int64) *Slot {
	if t.Width == 0 {
		t.Width = micros
		t.Start = now / t.Width * t.Width
	}
	for now >= t.Start+maxSlots*t.Width {
		t.widen()
	}
	i := int((now - t.Start) / t.Width)
	for len(t.Slots) <= i {
		t.Slots = append(t.Slots, Slot{})
	}
	return &t.Slots[i]
}

// widen merges slots so that they have the next larger width.
func (t *Traffic) widen() {
	next := t.Width * 2
	for _, w := range widths {
		if w*micros > t.Width {
			next = w * micros
			break
		}
	}
	wide := Traffic{Start: t.Start / next * next, Width: next}
	for i, s := range t.Slots {
		to := int((t.Start + int64(i)*t.Width - wide.Start) / next)
		for len(wide.Slots) <= to {
			wide.Slots = append(wide.Slots, Slot{})
		}
		wide.Slots[to].Passed += s.Passed
		wide.Slots[to].Denied += s.Denied
	}
	*t = wide
}

// Shown returns the traffic in at most 240 slots, for a report.
func (t *Traffic) Shown() Traffic {
	shown := Traffic{Start: t.Start, Width: t.Width, Slots: append([]Slot(nil), t.Slots...)}
	for len(shown.Slots) > maxShown {
		shown.widen()
	}
	return shown
}

// Heat counts requests by weekday, starting with Monday, and by hour, in a time zone.
type Heat struct {
	Zone  string          `json:"zone"`
	Cells [7][24]HeatCell `json:"cells"`
	// From and To are the times of the first and last request, in µs since 1970.
	From int64 `json:"from_us"`
	To   int64 `json:"to_us"`

	zone *time.Location
	// The fields quarter and cell cache the last lookup, so that the calendar is computed only once per quarter of an
	// hour in the log.
	quarter int64
	cell    *HeatCell
}

// HeatCell counts the requests in one hour of the week.
type HeatCell struct {
	Requests int64 `json:"requests"`
	Denied   int64 `json:"denied"`
}

// NewHeat returns an empty Heat for a time zone.
func NewHeat(zone *time.Location) Heat { return Heat{Zone: zone.String(), zone: zone, quarter: -1} }

// at returns the cell for a time. It looks the cell up once per quarter of an hour, because the UTC offsets of time
// zones are multiples of 15 minutes.
func (h *Heat) at(now int64) *HeatCell {
	quarter := now / (900 * micros)
	if quarter != h.quarter {
		t := time.UnixMicro(now).In(h.zone)
		h.quarter, h.cell = quarter, &h.Cells[(int(t.Weekday())+6)%7][t.Hour()]
	}
	return h.cell
}

// Add counts a request at the time now, in µs since 1970.
func (h *Heat) Add(now int64, denied bool) {
	if h.From == 0 {
		h.From = now
	}
	h.To = now
	c := h.at(now)
	c.Requests++
	if denied {
		c.Denied++
	}
}

// Covered reports which hours of the week the log covers: those between the first and the last request, except on a
// weekday without any request.
func (h *Heat) Covered() (covered [7][24]bool) {
	zone := h.zone
	if zone == nil {
		zone = time.UTC
	}
	const quarter, week = 900 * micros, 7 * 24 * 3600 * micros
	for at := h.From / quarter * quarter; h.From > 0 && at <= h.To && at-h.From <= week; at += quarter {
		t := time.UnixMicro(at).In(zone)
		covered[(int(t.Weekday())+6)%7][t.Hour()] = true
	}
	for day := range h.Cells {
		if h.Cells[day] == [24]HeatCell{} {
			covered[day] = [24]bool{}
		}
	}
	return covered
}

// Add counts a request at the time now, in µs since 1970. Times must not decrease.
func (t *Traffic) Add(now int64, denied bool) {
	if s := t.at(now); denied {
		s.Denied++
	} else {
		s.Passed++
	}
}
