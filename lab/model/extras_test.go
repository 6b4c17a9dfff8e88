package model

import (
	"testing"
	"time"
)

// These tables cover cases that the vectors do not contain. They were computed by hand.

func TestCountDenied(t *testing.T) {
	runTable(t, "fixed", []Limit{{Algorithm: FixedWindow, Limit: 5, WindowUS: 60 * sec, CountDenied: true}}, []try{
		{0, Take, 3, true, 2, 0, 60 * sec},
		{sec, Take, 6, false, 2, -1, 59 * sec}, // a request that can never pass charges nothing
		{sec, Peek, 4, false, 2, 59 * sec, 59 * sec},
		{sec, Take, 1, true, 1, 0, 59 * sec},
		{sec, Take, 4, false, 0, 59 * sec, 59 * sec},
		{2 * sec, Take, 1, false, 0, 58 * sec, 58 * sec},
	})
	runTable(t, "sliding", []Limit{{Algorithm: SlidingWindow, Limit: 5, WindowUS: 60 * sec, CountDenied: true, SlidingFields: SlidingFields{Segments: 1, Variant: Strict}}}, []try{
		{0, Take, 3, true, 2, 0, 120 * sec},
		{0, Take, 4, false, 0, 120 * sec, 120 * sec},
		{60 * sec, Take, 1, false, 0, 60 * sec, 60 * sec},
	})
	runTable(t, "log", []Limit{{Algorithm: SlidingLog, Limit: 5, WindowUS: 10 * sec, CountDenied: true}}, []try{
		{0, Take, 3, true, 2, 0, 10 * sec},
		{4 * sec, Take, 4, false, 0, 10 * sec, 10 * sec}, // 1 unit at 0 s and 4 at 4 s are kept
		{10 * sec, Peek, 1, true, 1, 0, 4 * sec},
		{10 * sec, Peek, 2, false, 1, 4 * sec, 4 * sec}, // the take would keep 3 units at 4 s and 2 at 10 s
		{10 * sec, Peek, 4, false, 1, 10 * sec, 4 * sec},
	})
	// The window denies the request. The log would allow it but counts it as denied, so the log's wait is the longest.
	runTable(t, "two limits", []Limit{
		{Algorithm: FixedWindow, Name: "w", Limit: 1, WindowUS: sec},
		{Algorithm: SlidingLog, Name: "g", Limit: 2, WindowUS: 10 * sec, CountDenied: true},
	}, []try{
		{0, Take, 1, true, 0, 0, sec},
		{0, Take, 1, false, 0, 10 * sec, 10 * sec},
	})
}

func TestDebt(t *testing.T) {
	l := bucketOf(1, sec, 5)[0]
	l.Debt = 3
	runTable(t, "debt", []Limit{l}, []try{
		{0, Take, 9, false, 5, -1, 0},
		{0, Take, 5, true, 0, 0, 5 * sec},
		{0, Take, 1, false, 0, 1, 5 * sec},
		{1, Take, 3, true, 0, 0, 8*sec - 1},
		{1, Take, 1, false, 0, 3 * sec, 8*sec - 1},
		{3*sec + 1, AtMost, 9, true, 0, 0, 8*sec - 1},
	})
}

func TestCosts(t *testing.T) {
	limits := []Limit{
		{Algorithm: FixedWindow, Name: "a", Limit: 10, WindowUS: sec},
		{Algorithm: FixedWindow, Name: "b", Limit: 3, WindowUS: sec},
	}
	s := New()
	d := s.Decide(limits, []int64{4, 0}, Take, t0)
	if !d.Allowed || d.Binding != 1 || d.Each[0].Remaining != 6 || d.Each[1].Remaining != 3 {
		t.Errorf("4 of the first, 0 of the second: %+v", d)
	}
	if d = s.Decide(limits, []int64{7, 1}, Take, t0); d.Allowed || d.Binding != 0 || d.Each[1].Remaining != 3 {
		t.Errorf("7 of the first, 1 of the second: %+v", d)
	}
}

func TestLeases(t *testing.T) {
	l := Limit{Algorithm: Concurrency, Limit: 2}
	steps := []LeaseStep{
		{AtUS: 0, Op: Acquire, ID: "a", Cost: 1, Want: Answer{Allowed: true, Remaining: 1, RetryAfterUS: new(int64(0)), ResetAfterUS: 10 * sec}},
		{AtUS: 1 * sec, Op: Acquire, ID: "b", Cost: 1, Want: Answer{Allowed: true, Remaining: 0, RetryAfterUS: new(int64(0)), ResetAfterUS: 10 * sec}},
		{AtUS: 2 * sec, Op: Acquire, ID: "c", Cost: 1, Want: Answer{Remaining: 0, RetryAfterUS: new(8 * sec), ResetAfterUS: 9 * sec}},
		{AtUS: 2 * sec, Op: Acquire, ID: "c", Cost: 3, Want: Answer{Remaining: 0, ResetAfterUS: 9 * sec}},
		{AtUS: 5 * sec, Op: Renew, ID: "a", Want: Answer{Allowed: true, Remaining: 0, RetryAfterUS: new(int64(0)), ResetAfterUS: 10 * sec}},
		{AtUS: 5 * sec, Op: Acquire, ID: "c", Cost: 1, Want: Answer{Remaining: 0, RetryAfterUS: new(6 * sec), ResetAfterUS: 10 * sec}},
		{AtUS: 11 * sec, Op: Renew, ID: "b", Want: Answer{Remaining: 1, ResetAfterUS: 4 * sec}}, // the permit is lost
		{AtUS: 11 * sec, Op: Release, ID: "a", Want: Answer{Allowed: true, Remaining: 2, RetryAfterUS: new(int64(0))}},
		{AtUS: 11 * sec, Op: Release, ID: "a", Want: Answer{Allowed: true, Remaining: 2, RetryAfterUS: new(int64(0))}},
		// Rule 8: a permit ends at most one lease time from now.
		{AtUS: 90 * sec, Op: Acquire, ID: "d", Cost: 2, Want: Answer{Allowed: true, RetryAfterUS: new(int64(0)), ResetAfterUS: 10 * sec}},
		{AtUS: 50 * sec, Op: Acquire, ID: "e", Cost: 1, Want: Answer{RetryAfterUS: new(10 * sec), ResetAfterUS: 10 * sec}},
		{AtUS: 60 * sec, Op: Acquire, ID: "e", Cost: 1, Want: Answer{Allowed: true, Remaining: 1, RetryAfterUS: new(int64(0)), ResetAfterUS: 10 * sec}},
	}
	s := New()
	for i, step := range steps {
		step.AtUS += t0
		step.LeaseUS = 10 * sec
		step.Want.Limit = 2
		if got := s.ApplyLease(l, step); !got.Equal(step.Want) {
			t.Errorf("step %d: %s %s:\n got %v\nwant %v", i, step.Op, step.ID, got, step.Want)
		}
	}
}

func TestCalendar(t *testing.T) {
	for _, c := range []struct{ unit, zone, now, start, end string }{
		{"1m", "UTC", "2024-02-29T12:34:56Z", "2024-02-29T12:34:00Z", "2024-02-29T12:35:00Z"},
		{"1h", "Asia/Kolkata", "2024-02-29T12:34:56Z", "2024-02-29T12:30:00Z", "2024-02-29T13:30:00Z"},
		{"1d", "America/New_York", "2025-03-09T12:00:00Z", "2025-03-09T05:00:00Z", "2025-03-10T04:00:00Z"}, // 23 hours
		{"1d", "America/New_York", "2025-11-02T12:00:00Z", "2025-11-02T04:00:00Z", "2025-11-03T05:00:00Z"}, // 25 hours
		{"1w", "UTC", "2024-03-03T23:59:59Z", "2024-02-26T00:00:00Z", "2024-03-04T00:00:00Z"},
		{"1w", "UTC", "2024-03-04T00:00:00Z", "2024-03-04T00:00:00Z", "2024-03-11T00:00:00Z"},
		{"1mo", "UTC", "2024-02-29T12:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"1mo", "Europe/Berlin", "2024-03-31T23:00:00Z", "2024-03-31T22:00:00Z", "2024-04-30T22:00:00Z"},
		{"1y", "UTC", "2024-12-31T23:59:59Z", "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		// The end of a leap year after the end of the zone's table.
		{"1d", "America/New_York", "2040-12-31T12:00:00Z", "2040-12-31T05:00:00Z", "2041-01-01T05:00:00Z"},
		// A day without a midnight: in São Paulo it began at 01:00.
		{"1d", "America/Sao_Paulo", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		// A day with two midnights: in Havana it begins at the first one.
		{"1d", "America/Havana", "2024-11-03T12:00:00Z", "2024-11-03T04:00:00Z", "2024-11-04T05:00:00Z"},
		// In St John's, one minute of the next day was followed by another hour of the day before.
		{"1d", "America/St_Johns", "2006-10-29T02:45:00Z", "2006-10-29T02:30:00Z", "2006-10-30T03:30:00Z"},
		// In Apia, there was no 30 December.
		{"1d", "Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
	} {
		at := func(s string) int64 {
			v, err := time.Parse(time.RFC3339, s)
			if err != nil {
				t.Fatal(err)
			}
			return v.UnixMicro()
		}
		start, end := calendarWindow(c.unit, c.zone, "", at(c.now))
		if start != at(c.start) || end != at(c.end) {
			show := func(us int64) string { return time.UnixMicro(us).UTC().Format(time.RFC3339) }
			t.Errorf("%s in %s at %s: [%s, %s), want [%s, %s)", c.unit, c.zone, c.now, show(start), show(end), c.start, c.end)
		}
	}
}

func TestCheck(t *testing.T) {
	good := bucketOf(1, 36_500*day, 1)[0]
	if err := good.Check(); err != nil {
		t.Errorf("once in a hundred years: %v", err)
	}
	zero := int64(0)
	for _, l := range []Limit{
		{},
		bucketOf(0, sec, 1)[0],
		bucketOf(1, 500*us, 1)[0],
		bucketOf(1, day, 1e18)[0],
		bucketOf(1, 36_500*day, 2)[0],
		{Algorithm: TokenBucket, Count: 1, PeriodUS: sec, Burst: 1, CountDenied: true},
		{Algorithm: Pacer, Count: 1, PeriodUS: sec, Burst: 1},
		{Algorithm: Pacer, Count: 1, PeriodUS: sec, BucketFields: BucketFields{MaxQueue: &zero}},
		{Algorithm: FixedWindow, Limit: 1},
		{Algorithm: FixedWindow, Limit: 1, FixedFields: FixedFields{Align: "UTC", Calendar: "2d"}},
		{Algorithm: SlidingWindow, Limit: 1, WindowUS: sec, SlidingFields: SlidingFields{Segments: 3}},
		{Algorithm: SlidingWindow, Limit: 1, WindowUS: sec, SlidingFields: SlidingFields{Segments: 2000}},
		{Algorithm: SlidingWindow, Windows: []Window{{5, 2 * sec}, {5, 4 * sec}}, SlidingFields: SlidingFields{SegmentUS: sec}},
		{Algorithm: SlidingLog, Limit: 100_001, WindowUS: sec},
		{Algorithm: Concurrency},
	} {
		if l.Check() == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
}
