package model

import "math/big"

// Limit is one limit with its parameters. Each algorithm uses some of the fields.
type Limit struct {
	Algorithm string `json:"algorithm"`
	Name      string `json:"name,omitempty"`
	// Key, if set, selects another subject than the case's.
	Key string `json:"key,omitempty"`
	// Choice numbers alternatives from 1. Of the limits with a choice, the first one with room is charged.
	Choice int `json:"choice,omitempty"`

	// These fields are for token buckets and pacers. Debt is the maximum debt. A pacer sets at least one of MaxQueue
	// and MaxWaitUS, where 0 counts as set.
	Count     int64  `json:"count,omitempty"`
	PeriodUS  int64  `json:"period_us,omitempty"`
	Burst     int64  `json:"burst,omitempty"`
	Debt      int64  `json:"debt,omitempty"`
	MaxQueue  *int64 `json:"max_queue,omitempty"`
	MaxWaitUS *int64 `json:"max_wait_us,omitempty"`

	// These fields are for windows, logs and concurrency limits, whose lease time is WindowUS. Align is "first",
	// "clock" or an IANA zone. A zone requires Calendar: 1m, 1h, 1d, 1w, 1mo or 1y.
	Limit       int64    `json:"limit,omitempty"`
	WindowUS    int64    `json:"window_us,omitempty"`
	Align       string   `json:"align,omitempty"`
	Calendar    string   `json:"calendar,omitempty"`
	Anchor      string   `json:"anchor,omitempty"` // for a calendar window, such as 2026-01-31T17:30
	Segments    int64    `json:"segments,omitempty"`
	SegmentUS   int64    `json:"segment_us,omitempty"`
	Variant     string   `json:"variant,omitempty"`
	Windows     []Window `json:"windows,omitempty"`
	CountDenied bool     `json:"count_denied,omitempty"`
	NextPays    bool     `json:"next_pays,omitempty"`
	WarmUpUS    int64    `json:"warm_up_us,omitempty"`
	Weight      int64    `json:"weight,omitempty"`
	Nested      bool     `json:"nested,omitempty"`

	// These fields are for adaptive rates, in addition to Count, PeriodUS and Burst.
	MinRate    int64 `json:"min_rate,omitempty"`
	MaxRate    int64 `json:"max_rate,omitempty"`
	IntervalUS int64 `json:"interval_us,omitempty"`
	Failures   int64 `json:"failures,omitempty"`
	MaxPauseUS int64 `json:"max_pause_us,omitempty"`

	// These fields are for penalties, in addition to Limit and WindowUS.
	BlockUS    int64 `json:"block_us,omitempty"`
	MaxBlockUS int64 `json:"max_block_us,omitempty"`
	ForgetUS   int64 `json:"forget_us,omitempty"`
}

// Window is one of several windows over the same segments or the same log.
type Window struct {
	Limit    int64 `json:"limit"`
	WindowUS int64 `json:"window_us"`
}

// windows returns the limit's windows. Most limits have just one.
func (l Limit) windows() []Window {
	if len(l.Windows) > 0 {
		return l.Windows
	}
	return []Window{{l.Limit, l.WindowUS}}
}

// longest returns the length of the limit's longest window.
func (l Limit) longest() int64 {
	var us int64
	for _, w := range l.windows() {
		us = max(us, w.WindowUS)
	}
	return us
}

// largest returns the highest limit among the windows.
func (l Limit) largest() int64 {
	var n int64
	for _, w := range l.windows() {
		n = max(n, w.Limit)
	}
	return n
}

// segment returns s = P/k, the segment length of a sliding window. By default, k is 50 for strict windows, and 1 for
// the other variants (section 5).
func (l Limit) segment() int64 {
	switch {
	case l.SegmentUS > 0:
		return l.SegmentUS
	case l.Segments > 0:
		return l.WindowUS / l.Segments
	case l.Variant == Strict:
		return l.WindowUS / 50
	}
	return l.WindowUS
}

// rate returns L and P divided by their greatest common divisor (rule 1).
func (l Limit) rate() (count, period *big.Int) {
	count, period = big.NewInt(l.Count), big.NewInt(l.PeriodUS)
	g := new(big.Int).GCD(nil, nil, count, period)
	return count.Div(count, g), period.Div(period, g)
}
