package model

import "math/big"

// Limit is one limit with its parameters. Each algorithm uses some of the fields. The fields of one algorithm, or of two
// that share their arithmetic, are in the file with that arithmetic.
type Limit struct {
	Algorithm string `json:"algorithm"`
	Name      string `json:"name,omitempty"`
	// Key, if set, selects another subject than the case's.
	Key string `json:"key,omitempty"`
	// Choice numbers alternatives from 1. Of the limits with a choice, the first one with room is charged.
	Choice int `json:"choice,omitempty"`

	// These fields are for limits that refill.
	Count    int64 `json:"count,omitempty"`
	PeriodUS int64 `json:"period_us,omitempty"`
	Burst    int64 `json:"burst,omitempty"`
	NextPays bool  `json:"next_pays,omitempty"`

	// These fields are for windows, logs, penalties and concurrency limits, whose lease time is WindowUS.
	Limit       int64    `json:"limit,omitempty"`
	WindowUS    int64    `json:"window_us,omitempty"`
	Windows     []Window `json:"windows,omitempty"`
	CountDenied bool     `json:"count_denied,omitempty"`

	BucketFields
	WarmUpFields
	FairFields
	AdaptiveFields
	FixedFields
	SlidingFields
	PenaltyFields
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

// segment returns s = P/k, the segment length of a sliding window. By default, k is the largest divisor of P up to 50 for
// strict windows, and 1 for the other variants (section 5).
func (l Limit) segment() int64 {
	switch {
	case l.SegmentUS > 0:
		return l.SegmentUS
	case l.Segments > 0:
		return l.WindowUS / l.Segments
	case variant(l) != Strict:
		return l.WindowUS
	}
	segment := l.WindowUS
	for k := int64(2); k <= 50; k++ {
		if l.WindowUS%k == 0 {
			segment = l.WindowUS / k
		}
	}
	return segment
}

// rate returns L and P divided by their greatest common divisor (rule 1).
func (l Limit) rate() (count, period *big.Int) {
	count, period = big.NewInt(l.Count), big.NewInt(l.PeriodUS)
	g := new(big.Int).GCD(nil, nil, count, period)
	return count.Div(count, g), period.Div(period, g)
}
