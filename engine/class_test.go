package engine_test

import (
	"testing"

	"github.com/headgate/headgate/engine"
)

func TestClassLowersEachCapacity(t *testing.T) {
	for _, c := range []struct{ limit, leaves, want string }{
		{"100/s burst 200", "10%", "100/s burst 180"},
		{"100/s burst 200", "20", "100/s burst 180"},
		{"5/s burst 7", "10%", "5/s burst 6"},
		{"5/s burst 7 debt 3", "1", "5/s burst 6"},
		{"5/s burst 7 debt 3", "0", "5/s burst 7 debt 3"},
		{"sliding-log 5/3s 50/1h", "10%", "sliding-log 4/3s 45/1h"},
		{"concurrency 10", "25%", "concurrency 7 lease 1m"},
		{"deny", "99%", "deny"},
		{"fair-share 100/s burst 200 weight 3", "10%", "fair-share 100/s burst 180 weight 3"},
		{"fair-share 100/s burst 20", "10", "fair-share 100/s burst 10"},
		{"fair-share 100/s burst 20", "11", ""},
		{"5/s burst 7", "7", ""},
		{"sliding-log 2/3s 3/1h", "50%", ""},
		{"pacer 5/s max_wait 1s", "1", ""},
	} {
		limit, err := engine.ParseLimit(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		leave, err := engine.ParseLeave(c.leaves)
		if err != nil {
			t.Fatal(err)
		}
		lowered, err := limit.ForClass(leave)
		if got := lowered.String(); (err != nil) != (c.want == "") || err == nil && got != c.want {
			t.Errorf("%s leaves %s: %s, %v; want %s", c.limit, c.leaves, got, err, c.want)
		}
		if err == nil && lowered.Counter() != limit.Counter() {
			t.Errorf("%s leaves %s: another counter", c.limit, c.leaves)
		}
	}
}

// TestLoweredTextIsALimit checks that the text of a lowered limit can be parsed, because snapshots and reservations
// keep lowered limits as text.
func TestLoweredTextIsALimit(t *testing.T) {
	for _, text := range []string{"100/s burst 20", "fair-share 100/s burst 20", "sliding-log 5/3s 50/1h", "warm-up 10/s burst 3 warm_up 1s"} {
		limit, err := engine.ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		lowered, err := limit.ForClass(engine.Leave{Units: 2})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := engine.ParseLimit(lowered.String()); err != nil || again != lowered || again.Capacity() < 1 {
			t.Errorf("%s: %s, %v", text, lowered, err)
		}
	}
}

// FuzzParseLeave checks that accepted text survives formatting and parsing, that a Leave never leaves a negative number
// of units, and that a percentage never leaves more than the capacity.
func FuzzParseLeave(f *testing.F) {
	for _, text := range []string{"10%", "0", "99%", "100%", "-1", "+5", "281474976710655", "281474976710656", "1.5%", "%"} {
		f.Add(text, int64(200))
	}
	f.Fuzz(func(t *testing.T, text string, capacity int64) {
		leave, err := engine.ParseLeave(text)
		if err != nil || capacity < 0 || capacity > 1<<48 {
			return
		}
		again, err := engine.ParseLeave(leave.String())
		if left := leave.Of(capacity); err != nil || again != leave || left < 0 || leave.Percent > 0 && left > capacity {
			t.Errorf("%q: %v, %v, leaves %d of %d", text, leave, err, left, capacity)
		}
	})
}
