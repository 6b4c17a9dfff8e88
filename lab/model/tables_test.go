package model

import "testing"

const (
	us  = int64(1)
	ms  = 1_000 * us
	sec = 1_000 * ms
	day = 86_400 * sec
	t0  = 1_700_006_400 * sec // a midnight
)

// try is one step of a table. A wait of -1 means Never.
type try struct {
	after            int64 // since t0
	op               string
	n                int64
	allowed          bool
	remaining        int64
	wait, resetAfter int64
}

func runTable(t *testing.T, name string, limits []Limit, table []try) {
	t.Helper()
	s := New()
	for i, w := range table {
		a := s.Apply(limits, w.op, w.n, t0+w.after)
		wait := int64(-1)
		if a.RetryAfterUS != nil {
			wait = *a.RetryAfterUS
		}
		got := try{w.after, w.op, w.n, a.Allowed, a.Remaining, wait, a.ResetAfterUS}
		if got != w {
			t.Errorf("%s, step %d:\n got %+v\nwant %+v", name, i, got, w)
		}
	}
}

func bucketOf(count, period, burst int64) []Limit {
	return []Limit{{Algorithm: TokenBucket, Count: count, PeriodUS: period, Burst: burst}}
}

// TestKnownBugsArithmetic contains the examples from docs/design/known-bugs.md, computed by hand.
func TestKnownBugsArithmetic(t *testing.T) {
	runTable(t, "1: 10/s", bucketOf(10, sec, 10), []try{{0, Take, 1, true, 9, 0, 100 * ms}})
	runTable(t, "1: 100/min", bucketOf(100, 60*sec, 100), []try{{0, Take, 1, true, 99, 0, 600 * ms}})
	runTable(t, "1: 1000/h", bucketOf(1000, 3600*sec, 1000), []try{{0, Take, 1, true, 999, 0, 3600 * ms}})
	runTable(t, "1: cost 8", bucketOf(10, sec, 10), []try{{0, Take, 8, true, 2, 0, 800 * ms}})
	runTable(t, "4: cost above capacity", bucketOf(1, sec, 5), []try{
		{0, Take, 5, true, 0, 0, 5 * sec},
		{0, Take, 6, false, 0, -1, 5 * sec},
		{sec, Take, 1, true, 0, 0, 5 * sec},
	})
	runTable(t, "8: a cost that would wrap", bucketOf(1, day, 1), []try{{0, Take, 200_000_000, false, 1, -1, 0}})
	runTable(t, "10: the fraction is carried", bucketOf(1, sec, 3), []try{
		{0, Take, 3, true, 0, 0, 3 * sec},
		{1900 * ms, AtMost, 9, true, 0, 0, 2100 * ms},
		{3800 * ms, AtMost, 9, true, 0, 0, 2200 * ms},
		{5700 * ms, AtMost, 9, true, 0, 0, 2300 * ms},
	})
	runTable(t, "10: 2.90 left of 10", bucketOf(1, sec, 10), []try{
		{0, Take, 5, true, 5, 0, 5 * sec},
		{300 * ms, Take, 1, true, 4, 0, 5700 * ms},
		{600 * ms, Take, 1, true, 3, 0, 6400 * ms},
		{900 * ms, Take, 1, true, 2, 0, 7100 * ms},
	})
	runTable(t, "12", bucketOf(1, sec, 5), []try{
		{0, Take, 1, true, 4, 0, sec},
		{100 * ms, Take, 1, true, 3, 0, 1900 * ms},
		{1150 * ms, Take, 1, true, 3, 0, 1850 * ms},
	})
	runTable(t, "13: 10 at 3/s", bucketOf(3, sec, 10), []try{{0, Take, 10, true, 0, 0, 3_333_334}})
	runTable(t, "14: 100/s", bucketOf(100, sec, 10), []try{
		{0, Take, 10, true, 0, 0, 100 * ms},
		{0, Take, 1, false, 0, 10 * ms, 100 * ms},
	})
	runTable(t, "19: the clock steps back", bucketOf(10, sec, 10), []try{
		{sec, Take, 10, true, 0, 0, sec},
		{0, Peek, 1, false, 0, 1100 * ms, 2 * sec},
		{sec, Take, 10, false, 0, sec, sec},
	})
	runTable(t, "21: no whole seconds", bucketOf(10, sec, 10), []try{
		{999 * ms, Take, 10, true, 0, 0, sec},
		{1000 * ms, Take, 10, false, 0, 999 * ms, 999 * ms},
	})
}

// TestTenAtOneInstant (regression: bug 2) checks that at any instant ten requests pass and the eleventh does not.
func TestTenAtOneInstant(t *testing.T) {
	limits := bucketOf(10, sec, 10)
	for start := range int64(10_000) {
		s, at := New(), t0+start*7919*ms+start
		for left := int64(9); left >= 0; left-- {
			if a := s.Apply(limits, Take, 1, at); !a.Allowed || a.Remaining != left {
				t.Fatalf("at %d: %v, want %d remaining", at, a, left)
			}
		}
		if a := s.Apply(limits, Take, 1, at); a.Allowed {
			t.Fatalf("at %d: an eleventh passed", at)
		}
	}
}

// TestThreeASecond (regression: bug 3) checks that three requests per second pass indefinitely. A capacity of 1 could
// not hold the units that refill while a wait is rounded up to the next µs, so the test uses 2.
func TestThreeASecond(t *testing.T) {
	limits, s := bucketOf(3, sec, 2), New()
	s.Apply(limits, Take, 2, t0)
	passed := 0
	for at := t0; ; {
		a := s.Apply(limits, Take, 1, at)
		if at += *a.RetryAfterUS; at > t0+1000*sec {
			break
		}
		if a.Allowed {
			passed++
		}
	}
	if passed != 3000 {
		t.Errorf("%d passed in 1000 s, want 3000", passed)
	}
}

// TestTwoBucketsOfADay (regression: bug 7) checks a limit whose window overlaps two segments, one second after the
// previous segment was full.
func TestTwoBucketsOfADay(t *testing.T) {
	limits := []Limit{{Algorithm: SlidingWindow, Limit: 150_000, WindowUS: day, SlidingFields: SlidingFields{Segments: 1, Variant: Weighted}}}
	runTable(t, "7", limits, []try{
		{0, Take, 150_000, true, 0, 0, 2 * day},
		{day + sec, Take, 1, true, 0, 0, 2*day - sec},
		{day + sec, Take, 1, false, 0, 152 * ms, 2*day - sec},
	})
}

// TestEightFiveOne (regression: bug 22) checks that a denial spends nothing, for every algorithm.
func TestEightFiveOne(t *testing.T) {
	for _, l := range []Limit{
		bucketOf(10, sec, 10)[0],
		{Algorithm: FixedWindow, Limit: 10, WindowUS: sec},
		{Algorithm: SlidingWindow, Limit: 10, WindowUS: sec, SlidingFields: SlidingFields{Variant: Strict}},
		{Algorithm: SlidingLog, Limit: 10, WindowUS: sec},
	} {
		s, limits := New(), []Limit{l}
		for i, want := range []struct {
			n       int64
			allowed bool
		}{{8, true}, {5, false}, {1, true}} {
			if a := s.Apply(limits, Take, want.n, t0); a.Allowed != want.allowed || i == 2 && a.Remaining != 1 {
				t.Errorf("%s: take %d: %v", l.Algorithm, want.n, a)
			}
		}
	}
}

// TestThousandAtOnce (regression: bug 23) checks that a thousand requests in one microsecond are a thousand entries.
func TestThousandAtOnce(t *testing.T) {
	limits, s := []Limit{{Algorithm: SlidingLog, Limit: 1000, WindowUS: sec}}, New()
	for range 1000 {
		s.Apply(limits, Take, 1, t0)
	}
	if a := s.Apply(limits, Take, 1, t0); a.Allowed || *a.RetryAfterUS != sec {
		t.Errorf("after a thousand: %v", a)
	}
}

// TestLoweredWhileFull (regression: bug 30) checks that spent units stay spent under another version of the limit. The
// version with the lower limit waits exactly as long as its own rate takes to refill all spent units.
func TestLoweredWhileFull(t *testing.T) {
	s, wide, narrow := New(), bucketOf(1, sec, 10), bucketOf(1, sec, 2)
	s.Apply(wide, Take, 10, t0)
	if a := s.Apply(narrow, Take, 1, t0); a.Allowed || *a.RetryAfterUS != 9*sec {
		t.Errorf("lowered: %v", a)
	}
	if a := s.Apply(wide, Take, 1, t0+sec); !a.Allowed {
		t.Errorf("the larger version, a second later: %v", a)
	}
	if a := s.Apply(narrow, Take, 1, t0+10*sec); !a.Allowed || a.Remaining != 0 {
		t.Errorf("lowered, after its wait: %v", a)
	}
}
