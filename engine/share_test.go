package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

// The shares of n processes are as stated for [engine.Shares]. Except for a pacer's bursts, they never add up to more
// than the limit (regression: bug 154).
func TestShares(t *testing.T) {
	for _, c := range []struct {
		limit string
		n     int64
		want  string
	}{
		{"100/s burst 200", 1, `100/s burst 200`},
		{"100/s burst 200", 4, `100/4s burst 50`},
		{"100/s", 3, `100/3s burst 33`},
		{"7/s burst 3", 4, "7/4s burst 1"},
		{"60/1m burst 10 debt 5", 2, `60/2m burst 5`},
		{"10/s burst 4 next_pays", 2, `10/2s burst 2`},
		{"pacer 10/s max_queue 7 next_pays", 2, "pacer 10/2s max_queue 3"},
		{"1/36525d", 2, "1/36525d"},
		{"7/36525d", 2, "3/36525d"},
		{"pacer 10/s max_wait 2s", 5, "pacer 10/5s max_wait 2s"},
		{"pacer 10/s burst 6 max_queue 7", 3, "pacer 10/3s burst 2 max_queue 2"},
		{"pacer 10/s burst 2 max_queue 7", 3, "pacer 10/3s max_queue 2"},
		{"warm-up 10/s warm_up 10s burst 4", 2, `10/2s burst 2`},
		{"fixed-window 100/1m count_denied", 3, `100/3m burst 33`},
		{"1000/1d align Asia/Shanghai", 7, `1000/175h burst 142`}, // a day can have 25 hours
		{"1000/1mo align UTC", 2, `1000/1490h burst 500`},
		{"fixed-window 2/1m", 3, "2/3m burst 1"},
		{"sliding-window 100/1m segments 10 strict", 8, `100/8m burst 12`},
		{"sliding-log 5/1m 50/1h name x", 2, `5/2m burst 2, 50/2h burst 25`},
		{"sliding-log 1/1s 50/1h", 2, `1/2s, 50/2h burst 25`},
		{"concurrency 10 lease 30s", 4, "concurrency 2 lease 30s"},
		{"concurrency 3", 4, "concurrency 1 lease 1m"},
		{"deny", 4, "deny"},
		{"unlimited", 4, "unlimited"},
	} {
		l, err := engine.ParseLimit(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, share := range engine.Shares(l, c.n) {
			if share.Err() != nil {
				t.Fatal(share.Err())
			}
			text, _, _ := strings.Cut(share.String(), " name ")
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("1/%d of %s is %s; want %s", c.n, c.limit, text, c.want)
		}
	}
	invalid := engine.Build(0, nil)
	if engine.Shares(invalid, 3)[0].Err() == nil {
		t.Error("the share of a limit that was not built has no error")
	}
}

// With any field, the share of a single process admits at most what the limit admits: at once, and after each of
// several spans in which all windows pass.
func TestSharesAdmitNoMore(t *testing.T) {
	exceptions := map[string]string{"warm_up": "a share has the full rate"}
	for _, a := range algo.Algorithms() {
		for _, limit := range rule.EveryField(a) {
			shares := engine.Shares(limit, 1)
			fields := strings.Fields(limit.String())
			excepted := slices.ContainsFunc(fields, func(word string) bool { return exceptions[word] != "" })
			if a.Divides() && limit.Numbers().MostCharged() > 200 || shares[0] == limit && !a.Holds() || excepted {
				continue
			}
			span := time.Duration(0)
			for _, rate := range limit.Rates() {
				span = max(span, 2*rate.Period)
			}
			own, all := admitted(span, shares), admitted(span, []engine.Limit{limit})
			for at := range own {
				if own[at] > all[at] {
					t.Errorf("%s admits %d units, and its share %v %d", limit, all, shares, own)
					break
				}
			}
		}
	}
}

// admitted returns how many units unused limits admit together until each of five instants, a span apart.
func admitted(span time.Duration, limits []engine.Limit) (units [5]int64) {
	steps := make([]algo.Step, len(limits))
	for i, limit := range limits {
		steps[i].Limit = limit.Numbers()
	}
	a, total := limits[0].Algorithm(), int64(0)
	for at := range units {
		now := int64(1_700_000_000_000_000) + int64(at)*span.Microseconds()
		for more := int64(1); more > 0; total += more {
			more = 0
			for i := range steps {
				steps[i].KeyHash, steps[i].Cost = uint64(total)<<32, 1<<40
			}
			switch t := (algo.Instant{Now: now, Wall: now}); {
			case a.Holds():
				steps[0].Cost = 1
				if algo.Acquire(steps, t, fmt.Sprint(total)) {
					more = 1
				}
			case a.Divides():
				steps[0].Cost = 1
				fallthrough
			default:
				more = algo.AtMost(steps, t)
			}
		}
		units[at] = total
	}
	return units
}

// Shares of different limits and windows of one key have separate counters.
func TestSharesHaveTheirOwnCounters(t *testing.T) {
	names := map[string]string{}
	for _, text := range []string{"100/s", "100/s name x", "fixed-window 100/1s", "sliding-window 100/1s", "sliding-log 100/1s 200/1m", "warm-up 10/s warm_up 10s burst 4"} {
		l, err := engine.ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range engine.Shares(l, 2) {
			if other, taken := names[share.Name()]; taken {
				t.Errorf("%s and %s share %q", text, other, share.Name())
			}
			names[share.Name()] = text
		}
	}
}

// A limit has recovered from a loss when its largest possible charge would have drained (regression: bug 81). A window by
// the clock or the calendar has recovered when the window of the loss ends.
func TestRecoversAt(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"100/s burst 500": 5 * time.Second, "100/1m burst 1": 600 * time.Millisecond, "10/1d burst 1": 8640 * time.Second, "pacer 10/s max_wait 1h": time.Hour + 100*time.Millisecond,
		"60/1m burst 10 debt 110": 2 * time.Minute, "pacer 10/s max_queue 99": 10 * time.Second, "10/s burst 50 next_pays": 5 * time.Second,
		"sliding-log 5/1m 50/1h": time.Hour, "concurrency 5 lease 30s": 30 * time.Second, "fixed-window 5/1d": 24 * time.Hour,
		"fixed-window 5/1mo align UTC": 2*24*time.Hour - 10*time.Minute, "fixed-window 5/1y align UTC": 33*24*time.Hour - 10*time.Minute,
		"1000/1d align UTC": 24*time.Hour - 10*time.Minute, "1000/1h align UTC": 50 * time.Minute, "fixed-window 5/1h align clock": 50 * time.Minute,
		"penalty 5/1m block 10m": 0,
	} {
		l, err := engine.ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		lost := time.Date(2026, 11, 29, 0, 10, 0, 0, time.UTC).UnixMicro()
		if got := time.Duration(l.Numbers().RecoversAt(lost)-lost) * time.Microsecond; got != want {
			t.Errorf("%s recovers in %s, want %s", text, got, want)
		}
	}
}

// TestCover checks that a window that starts with its first request admits twice its count in a span of its length,
// and that a cold limit admits no more than a warm one. Names stay the same.
func TestCover(t *testing.T) {
	for text, want := range map[string]string{
		`fixed-window 60/1m name "a"`: `sliding-log 120/1m name "a"`, "fixed-window 60/1m align clock": "fixed-window 60/1m align clock",
		"warm-up 60/1m warm_up 1h burst 7": "60/1m burst 7", "60/1m": "60/1m",
		"deny": "", "unlimited": "", "concurrency 3": "", "fixed-window 60000/1d": "",
	} {
		limit, err := engine.ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := engine.UpperBound(limit); ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s is covered by %v, %t; want %q", text, got, ok, want)
		}
	}
}

// TestSharesBound checks the bounds stated in section 9 of docs/design/rules.md.
func TestSharesBound(t *testing.T) {
	for text, want := range map[string]int64{
		"100/s burst 200": 400, "60/1m burst 10 debt 5": 30, "10/s burst 4 next_pays": 8, "pacer 10/s max_queue 10": 2*(4+10) + 3,
		"pacer 10/s burst 9 max_queue 10": 38, "warm-up 10/s warm_up 10s burst 4": 8, "sliding-log 5/3s 50/1h": 100, "sliding-log 3/1m": 8, "3/1m": 8, "concurrency 3": 4, "fixed-window 40/1m": 80,
		"concurrency 5": 5,
	} {
		l, err := engine.ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := engine.SharesBound(l, 4); got != want {
			t.Errorf("shares of %s can exceed it by %d, want %d", text, got, want)
		}
	}
}

// At the fastest rate, the units that refill in ten seconds exceed 2^63 / Period.
func TestRefilledOfTheFastestRate(t *testing.T) {
	l := parsed(t, "281474976710655/1ms burst 1").Numbers()
	if got := l.Refilled(10_000_000); got != 10_000*algo.MaxUnits {
		t.Errorf("%d units refill in 10 s, want 10000 times 2^48-1", got)
	}
}

// A pacer's queue can be longer than the largest number of units. The bounds computed for it neither overflow nor are
// too low.
func TestBoundsOfALongQueue(t *testing.T) {
	const week = 7 * 24 * time.Hour
	limit := parsed(t, "pacer 281474976710655/1ms max_wait 1w")
	if got := limit.Numbers().RecoversAt(0); got != week.Microseconds()+1 { // plus the burst of 1
		t.Errorf("a queue of a week is empty after %d µs", got)
	}
	if got := limit.Numbers().SharesBound(1000); got < 1<<60 {
		t.Errorf("shares exceed it by at most %d", got)
	}
}

func parsed(t *testing.T, text string) engine.Limit {
	t.Helper()
	limit, err := engine.ParseLimit(text)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}
