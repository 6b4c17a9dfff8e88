package redisstore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// TestEntries: what is asked of a key is told in as few words as it takes, and
// whether any of it spends.
func TestEntries(t *testing.T) {
	limit := headgate.TokenBucket(headgate.PerSecond(10))
	take := func(n int64) engine.Op { return engine.Single(engine.OpAllow, "k", limit, n) }
	for _, c := range []struct {
		ops  []engine.Op
		want string
	}{
		{[]engine.Op{take(1)}, "each 1"},
		{[]engine.Op{take(1), engine.Single(engine.OpAllow, "l", limit, 1)}, "each 1"},
		{[]engine.Op{take(0)}, "0 []"},
		{[]engine.Op{engine.Single(engine.OpPeek, "k", limit, 3)}, "0 []"},
		{[]engine.Op{take(2), engine.Single(engine.OpPeek, "k", limit, 3)}, "1 [0 2 1]"},
		{[]engine.Op{take(2), take(2), engine.Single(engine.OpPeek, "k", limit, 3), take(2), take(1)}, "1 [0 2 3 0 1 1]"},
		{[]engine.Op{engine.Single(engine.OpGive, "k", limit, 2), engine.Single(engine.OpGive, "k", limit, 2)}, "0 [3 2 1 3 2 1]"},
		{[]engine.Op{take(2), engine.Single(engine.OpGive, "k", limit, 2), take(2), take(1 << 60)}, fmt.Sprintf("1 [0 2 1 3 2 1 0 2 1 0 %d 1]", int64(unitsMax))},
	} {
		var g grouping
		g.start()
		for i := range c.ops {
			g.add(c.ops, i)
		}
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

// TestForgets: known bug 42. A call's memory, which is reused, keeps no key.
func TestForgets(t *testing.T) {
	limit := headgate.TokenBucket(headgate.PerSecond(10))
	store, err := New(answering{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	ops := []engine.Op{engine.Single(engine.OpAllow, "k", limit, 1), engine.Single(engine.OpAllow, "l", limit, 1)}
	results := make([]engine.Result, len(ops))
	p := new(plan)
	p.start(store, ops, results)
	for i := range ops {
		p.add(i)
	}
	store.run(t.Context(), p)
	if results[0].Err != nil || !results[1].Outcome.Allowed {
		t.Fatalf("%+v", results)
	}
	g := p.calls[:1][0].grouping
	for _, r := range g.runs[:cap(g.runs)] {
		if r.key != "" {
			t.Errorf("the run of %q is kept", r.key)
		}
	}
	for _, k := range g.kinds[:cap(g.kinds)] {
		if k != (kind{}) {
			t.Errorf("%+v is kept", k)
		}
	}
	if len(g.place) > 0 {
		t.Errorf("%v are kept", g.place)
	}
}

// answering is a connection that knows no key.
type answering struct{ noConn }

func (answering) Do(_ context.Context, _ []Command, replies []Reply) {
	for i := range replies {
		replies[i].Text = "\x00\x06\x00\x00\x00\x00\x00\x00\x00\x00"
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
		false: headgate.TokenBucket(headgate.PerSecond(10)), true: headgate.FixedWindow(headgate.PerSecond(10)),
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

// TestJoins: a call takes so many keys, and what else is asked of them; a key is
// not in two calls.
func TestJoins(t *testing.T) {
	bucket := headgate.TokenBucket(headgate.PerSecond(10))
	log := headgate.SlidingLog(headgate.PerSecond(10))
	store, err := New(noConn{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	many := func(limit headgate.Limit, n, keys int) (ops []engine.Op) {
		for i := range n {
			ops = append(ops, engine.Single(engine.OpAllow, fmt.Sprint("k", i%keys), limit, 1))
		}
		return ops
	}
	for _, c := range []struct {
		name string
		ops  []engine.Op
		want string // operations of each call
	}{
		{"one key", many(bucket, 300, 1), "[300]"},
		{"more than a call takes of one key", many(bucket, 1100, 1), "[1024 76]"},
		{"many keys", many(bucket, 300, 300), "[128 128 44]"},
		{"keys that come again", many(bucket, 300, 200), "[228 72]"},
		{"one log", many(log, 500, 1), "[500]"},
		{"more than a call takes of one log", many(log, 600, 1), "[509 91]"},
		{"many logs", many(log, 300, 300), "[128 128 44]"},
		{"both", append(many(bucket, 3, 1), append(many(log, 2, 1), many(bucket, 2, 1)...)...), "[3 2 2]"},
	} {
		p := new(plan)
		p.start(store, c.ops, make([]engine.Result, len(c.ops)))
		for i := range c.ops {
			p.add(i)
		}
		var got []int
		for i := range p.calls {
			got = append(got, len(p.calls[i].ops))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: calls of %v operations, want %s", c.name, got, c.want)
		}
	}
}

// noConn is a connection that is not asked.
type noConn struct{ Conn }

func (noConn) Cluster() bool { return false }
