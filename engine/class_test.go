package engine_test

import (
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
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

// TestLoweredLimitIsALimit checks that a limit with any field is lowered to a limit whose text can be parsed, because
// snapshots and reservations keep lowered limits as text, and that admits something, but no more than the limit.
func TestLoweredLimitIsALimit(t *testing.T) {
	for _, a := range algo.Algorithms() {
		for _, limit := range rule.EveryField(a) {
			capacity, most, lowers := limit.Capacity(), limit.Numbers().MostCharged(), 0
			few, many := engine.Leave{Units: 1}, engine.Leave{Units: max(0, capacity-2)}
			for _, leave := range []engine.Leave{few, many, {Units: capacity / 2}, {Percent: 10}, {Percent: 99}} {
				lowered, err := limit.ForClass(leave)
				if err != nil {
					continue
				}
				lowers++
				again, err := engine.ParseLimit(lowered.String())
				if err != nil || again != lowered || again.Counter() != limit.Counter() {
					t.Errorf("%s leaves %s: %s, parsed %s, %v", limit, leave, lowered, again, err)
				}
				if n := lowered.Numbers(); !a.Constant() && n.Capacity() < 1 || n.MostCharged() > most {
					t.Errorf("%s leaves %s: %s admits %d of %d units", limit, leave, lowered, n.MostCharged(), most)
				}
			}
			if n := limit.Numbers(); lowers == 0 && capacity > engine.LeastDivided && !n.NextPays && !a.Paces() {
				t.Errorf("%s is never lowered", limit)
			}
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
