package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate"
)

// TestEntries: what is asked of a key is told in as few words as it takes, and
// whether any of it spends.
func TestEntries(t *testing.T) {
	limit := headgate.Must(headgate.TokenBucket(headgate.PerSecond(10)))
	take := func(n int64) headgate.Op { return headgate.Take("k", limit, n) }
	for _, c := range []struct {
		ops  []headgate.Op
		want string
	}{
		{[]headgate.Op{take(1)}, "each 1"},
		{[]headgate.Op{take(1), headgate.Take("l", limit, 1)}, "each 1"},
		{[]headgate.Op{take(0)}, "0 []"},
		{[]headgate.Op{headgate.Peek("k", limit, 3)}, "0 []"},
		{[]headgate.Op{take(2), headgate.Peek("k", limit, 3)}, "1 [0 2 1]"},
		{[]headgate.Op{take(2), take(2), headgate.Peek("k", limit, 3), take(2), take(1)}, "1 [0 2 3 0 1 1]"},
		{[]headgate.Op{headgate.Give("k", limit, 2), headgate.Give("k", limit, 2)}, "0 [3 2 1 3 2 1]"},
		{[]headgate.Op{take(2), headgate.Give("k", limit, 2), take(2), take(1 << 60)}, fmt.Sprintf("1 [0 2 1 3 2 1 0 2 1 0 %d 1]", int64(unitsMax))},
	} {
		var g grouping
		indices := make([]int, len(c.ops))
		for i := range indices {
			indices[i] = i
		}
		g.fill(c.ops, indices)
		got := fmt.Sprint("each ", g.groups[0].each)
		if g.groups[0].each == 0 {
			r := reader{text: string(g.entries(nil, c.ops, &g.runs[0]))}
			spends, words := r.integer(1), []int64{}
			for r.text != "" {
				words = append(words, r.integer(1), r.integer(7), r.integer(4))
			}
			got = fmt.Sprint(spends, " ", words)
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.ops, got, c.want)
		}
	}
}

// FuzzFound: what is cut short is an error, and a state is never read from it.
func FuzzFound(f *testing.F) {
	f.Add("\x00", false)
	f.Add("\x01"+strings.Repeat("\x01", 33), false)
	f.Add("\x01"+strings.Repeat("\x01", 12), true)
	f.Add("\x03\x03OOM\x01"+strings.Repeat("\x01", 33), false)
	f.Add("\x02\x09RECOMPUTE", true)
	limits := map[bool]headgate.Limit{
		false: headgate.Must(headgate.TokenBucket(headgate.PerSecond(10))), true: headgate.Must(headgate.FixedWindow(headgate.PerSecond(10))),
	}
	f.Fuzz(func(t *testing.T, text string, window bool) {
		limit := limits[window].Numbers()
		r := &reader{text: text}
		if r.found(limit); r.bad {
			return
		}
		short := &reader{text: text[:len(text)-len(r.text)-1]}
		if got := short.found(limit); !short.bad {
			t.Errorf("%q is read as a whole without its last byte: %+v", text[:len(text)-len(r.text)], got)
		}
	})
}
