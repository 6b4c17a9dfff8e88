package simulate

import "time"

// The columns of the traffic over time.
const (
	maxSlots = 4096
	maxShown = 240
)

// Slot is what happened in one span of time.
type Slot struct {
	Passed  int64 `json:"passed"`
	Refused int64 `json:"refused"`
}

// Traffic counts requests over time in slots of one width, which grows with the log: it has
// at most 4096 slots.
type Traffic struct {
	// Start is the beginning of the first slot in µs since 1970, Width the length of a slot
	// in µs.
	Start int64  `json:"start_us"`
	Width int64  `json:"width_us"`
	Slots []Slot `json:"slots"`
}

// widths are the widths of slots in seconds. Each is a multiple of the one before, so that
// slots can be joined.
var widths = []int64{1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 86400}

const micros = int64(time.Second / time.Microsecond)

// at returns the slot of an instant. Instants come in order.
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

// widen joins slots to the next width.
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
		wide.Slots[to].Refused += s.Refused
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

// Heat counts requests by weekday, from Monday, and hour, in a time zone.
type Heat struct {
	Zone  string          `json:"zone"`
	Cells [7][24]HeatCell `json:"cells"`
	// From and To are the first and the last request, in µs since 1970.
	From int64 `json:"from_us"`
	To   int64 `json:"to_us"`

	zone *time.Location
	// hour is the hour that was looked up last, in hours since 1970, and cell its cell: the
	// calendar is asked once a quarter of an hour of the log.
	quarter int64
	cell    *HeatCell
}

// HeatCell is one hour of a week.
type HeatCell struct {
	Requests int64 `json:"requests"`
	Refused  int64 `json:"refused"`
}

// NewHeat returns counts in a time zone.
func NewHeat(zone *time.Location) Heat { return Heat{Zone: zone.String(), zone: zone, quarter: -1} }

// at returns the cell of an instant. Zones differ by quarters of an hour.
func (h *Heat) at(now int64) *HeatCell {
	quarter := now / (900 * micros)
	if quarter != h.quarter {
		t := time.UnixMicro(now).In(h.zone)
		h.quarter, h.cell = quarter, &h.Cells[(int(t.Weekday())+6)%7][t.Hour()]
	}
	return h.cell
}

// Add counts a request.
func (h *Heat) Add(now int64, refused bool) {
	if h.From == 0 {
		h.From = now
	}
	h.To = now
	c := h.at(now)
	c.Requests++
	if refused {
		c.Refused++
	}
}

// Covered returns the hours of the week that lie between the first request and the last. The others
// are not in the log, and say nothing about the traffic.
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
	return covered
}

// Add counts a request. Instants come in order.
func (t *Traffic) Add(now int64, refused bool) {
	if s := t.at(now); refused {
		s.Refused++
	} else {
		s.Passed++
	}
}
