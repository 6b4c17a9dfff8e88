package topkeys_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/topkeys"
)

// TestTimelineKeepsTheLastDecisions checks that each key under each policy has its own timeline with at most 32
// decisions, latest first, with allowed and denied decisions in order.
func TestTimelineKeepsTheLastDecisions(t *testing.T) {
	tracker := topkeys.New()
	if got := tracker.Timeline("api", "a"); len(got) != 0 {
		t.Errorf("before the first request: %v", got)
	}
	for i := range 40 {
		o := call(start.Add(time.Duration(i)*time.Second), api, "a", "b")
		o.Responses[0].Allowed = i%4 != 3
		o.Responses[0].Binds().Remaining = int64(i)
		o.Responses[0].Cost = int64(i)
		o.FrontEnd = service.HTTP
		tracker.Observe(o)
	}
	tracker.Observe(call(start, other, "a"))
	events := tracker.Timeline("api", "a")
	if len(events) != topkeys.MaxEvents {
		t.Fatalf("%d events, want %d", len(events), topkeys.MaxEvents)
	}
	for n, e := range events {
		i := 39 - n
		if !e.At.Equal(start.Add(time.Duration(i)*time.Second)) || e.Allowed != (i%4 != 3) || e.Remaining != int64(i) || e.Cost != int64(i) || e.Counts != 1 || e.From != "http" || e.Failed {
			t.Errorf("event %d: %+v", n, e)
		}
	}
	if got := tracker.Timeline("other", "a"); len(got) != 1 {
		t.Errorf("of another policy: %d events, want 1", len(got))
	}
}

// TestTimelineIsBounded checks that the least recently seen keys make room for others, that the memory stays below 16
// MiB whatever the keys are, including 8 MiB for the counts of top keys, and that no key shares memory with a call.
func TestTimelineIsBounded(t *testing.T) {
	tracker := topkeys.New()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	long := strings.Repeat("k", 500)
	at := start
	for round := range 3 {
		for i := range 3000 {
			// The rate is low enough that each event is counted.
			at = at.Add(300 * time.Microsecond)
			buffer := []byte(fmt.Sprintf("%04d%s", i, long))
			tracker.Observe(call(at, api, string(buffer)))
			if round == 0 && i == 2999 {
				if got := tracker.Timeline("api", fmt.Sprintf("%04d%s", 0, long)); len(got) != 0 {
					t.Error("the key that was not seen for the longest time is still there")
				}
				if got := tracker.Timeline("api", fmt.Sprintf("%04d%s", 2999, long)); len(got) != 1 {
					t.Error("the last key is not there")
				}
			}
		}
	}
	for range topkeys.MaxEvents {
		for i := range 2048 {
			at = at.Add(300 * time.Microsecond)
			tracker.Observe(call(at, api, fmt.Sprintf("%04d%s", i, long)))
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("%d MiB; at most 16, of which the counts of top keys are 8", grown>>20)
	}
	runtime.KeepAlive(tracker)
}

// TestTimelineSamplesHotKeys checks that at a high rate a sample of the requests is kept, each with the number of
// requests that it represents, and that denied requests still appear among many allowed ones.
func TestTimelineSamplesHotKeys(t *testing.T) {
	tracker := topkeys.New()
	at := start
	keys := slices.Repeat([]string{"hot"}, 100)
	for range 3000 { // 100 000 per second, of which 100 are denied
		at = at.Add(time.Millisecond)
		o := call(at, api, keys...)
		if at.UnixMilli()%10 == 0 {
			o.Responses[50].Allowed = false
		}
		tracker.Observe(o)
	}
	allowed, denied := 0, 0
	for _, e := range tracker.Timeline("api", "hot") {
		switch {
		case e.Allowed && e.Counts < 2:
			t.Errorf("an allowed request of 100 000 a second stands for itself alone: %+v", e)
		case e.Allowed:
			allowed++
		case e.Counts != 1:
			t.Errorf("a denied request of 100 a second stands for %d", e.Counts)
		default:
			denied++
		}
	}
	if allowed == 0 || denied == 0 {
		t.Errorf("%d allowed and %d denied", allowed, denied)
	}
}
