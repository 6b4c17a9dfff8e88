package redisstore

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

// Consecutive equal allows are merged into one entry, and peeks need none. A limit needs no entries if the only
// operation on each of its keys is an allow of the same cost.
func TestEntriesAreMerged(t *testing.T) {
	limit := rule.TokenBucket(rule.PerSecond(10))
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
		{[]engine.Op{take(2), engine.Single(engine.OpGive, "k", limit, 2), take(2), take(1 << 60)}, fmt.Sprintf("1 [0 2 1 3 2 1 0 2 1 0 %d 1]", int64(maxUnits))},
	} {
		m := newMerger()
		for i := range c.ops {
			m.add(c.ops, i)
		}
		m.split()
		got := fmt.Sprint("each ", m.limits[0].cost)
		if m.limits[0].cost == 0 {
			r := reader{text: string(m.encodeEntries(nil, c.ops, &m.keys[0]))}
			charges, entries := r.integer(1), []int64{}
			for r.text != "" {
				entries = append(entries, r.integer(1), r.integer(7), r.integer(4))
			}
			got = fmt.Sprint(charges, " ", entries)
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.ops, got, c.want)
		}
	}
}

// A key with several operations does not take the short way of the other keys of its limit.
func TestKeysWithEntriesAreSentApart(t *testing.T) {
	limit, m := rule.TokenBucket(rule.PerSecond(10)), newMerger()
	var ops []engine.Op
	for _, key := range []string{"hot", "a", "hot", "b", "c"} {
		ops = append(ops, engine.Single(engine.OpAllow, key, limit, 1))
	}
	ops = append(ops, engine.Single(engine.OpAllow, "d", limit, 2), engine.Single(engine.OpPeek, "e", limit, 1))
	for i := range ops {
		m.add(ops, i)
	}
	for range 2 { // a call may be sent again
		m.split()
		var got []string
		for i := range m.limits {
			keys := fmt.Sprint(m.limits[i].cost)
			for k := m.limits[i].first; k != none; k = m.keys[k].next {
				keys += " " + m.keys[k].subject
			}
			got = append(got, keys)
		}
		if want := []string{"1 a b c", "0 hot d e"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Regression: bug 42. The pooled buffers of a call retain no key.
func TestReusedMemoryKeepsNoKey(t *testing.T) {
	limit := rule.TokenBucket(rule.PerSecond(10))
	store, err := New(emptyServer{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	ops := []engine.Op{engine.Single(engine.OpAllow, "k", limit, 1), engine.Single(engine.OpAllow, "l", limit, 1)}
	results := make([]engine.Answer, len(ops))
	p := new(pipeline)
	p.start(store, ops, results)
	for i := range ops {
		p.add(i)
	}
	p.send(t.Context())
	if results[0].Err != nil || !results[1].Allowed {
		t.Fatalf("%+v", results)
	}
	m := p.calls[:1][0].merger
	for _, k := range m.keys[:cap(m.keys)] {
		if k.subject != "" {
			t.Errorf("the key %q is kept", k.subject)
		}
	}
	for _, h := range m.heads[:cap(m.heads)] {
		if h != (keyHead{}) {
			t.Errorf("%+v is kept", h)
		}
	}
	if len(m.index) > 0 {
		t.Errorf("%v are kept", m.index)
	}
}

// emptyServer replies to merge.lua that two keys are absent.
type emptyServer struct{ noConn }

func (emptyServer) Do(_ context.Context, _ []Command, replies []Reply) {
	for i := range replies {
		replies[i].Text = "\x00\x06\x00\x00\x00\x00\x00\x00\x00\x00"
	}
}

// A call contains up to 128 different keys and up to 1024 operations on them, or fewer operations on a log, which are
// more work. No key is in two calls, unless the operations on it are too many or too much work for one call.
func TestGroupingBoundsCalls(t *testing.T) {
	bucket := rule.TokenBucket(rule.PerSecond(10))
	log := rule.SlidingLog(rule.PerSecond(10))
	store, err := New(noConn{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	many := func(limit engine.Limit, n, keys int) (ops []engine.Op) {
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
		{"more operations on one key than a call may have", many(bucket, 1100, 1), "[1024 76]"},
		{"many keys", many(bucket, 300, 300), "[128 128 44]"},
		{"keys with several operations", many(bucket, 300, 200), "[228 72]"},
		{"one log", many(log, 500, 1), "[500]"},
		{"more operations on one log than a call may have", many(log, 600, 1), "[509 91]"},
		{"many logs", many(log, 300, 300), "[128 128 44]"},
		{"buckets and a log", append(many(bucket, 3, 1), append(many(log, 2, 1), many(bucket, 2, 1)...)...), "[3 2 2]"},
	} {
		p := new(pipeline)
		p.start(store, c.ops, make([]engine.Answer, len(c.ops)))
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

// noConn is a connection for tests that send no command.
type noConn struct{ Conn }

func (noConn) Cluster() bool { return false }

// Only limits whose fields merge.lua supports are merged, and only those whose fields the parts fast support are
// sent without entries.
func TestUnknownFieldIsNotMerged(t *testing.T) {
	for text, want := range map[string]struct{ merged, plain bool }{
		"773/1h":                             {true, true},
		"773/1h debt 5":                      {true, false},
		"773/1h next_pays":                   {false, false},
		"pacer 773/1h max_queue 5":           {true, true},
		"pacer 773/1h max_queue 5 burst 2":   {true, true},
		"pacer 773/1h max_wait 5s name a":    {true, true},
		"pacer 773/1h max_wait 5s next_pays": {false, false},
		"fixed-window 773/1h":                {true, true},
		"fixed-window 773/1h align clock":    {true, true},
		"fixed-window 773/1h align UTC":      {true, false},
		"fixed-window 773/1h count_denied":   {true, false},
		"sliding-log 773/1h":                 {false, false},
	} {
		limit, err := engine.ParseLimit(text)
		if err != nil {
			t.Error(err)
			continue
		}
		ops := []engine.Op{engine.Single(engine.OpAllow, "k", limit, 1)}
		ways := func() (merged, plain bool) {
			if merged = mergeable(&ops[0]); !merged {
				return false, false
			}
			m := newMerger()
			m.add(ops, 0)
			return true, m.limits[0].cost > 0
		}
		if merged, plain := ways(); merged != want.merged || plain != want.plain {
			t.Errorf("%s: merged %t, plain %t", text, merged, plain)
		}
		fields := &limit.Numbers().Fields
		*fields |= 1 << 63
		if merged, _ := ways(); merged {
			t.Errorf("%s with an unknown field is merged", text)
		}
		*fields &^= 1 << 63
	}
}

// Each field that merge.lua, or the parts fast, are said to support is in a limit that they decide. Batches in lab/lua
// compare the answers.
func TestMergedFieldsHaveExamples(t *testing.T) {
	for f := range fragments {
		m := fragments[f].merged
		if m == nil {
			continue
		}
		for _, a := range fragments[f].algorithms {
			merged, plain := algo.FieldsOf(), algo.FieldsOf()
			for _, limit := range rule.EveryField(a) {
				l := limit.Numbers()
				if l.Fields.Within(m.fields) {
					merged |= l.Fields
				}
				if m.decidesPlain(l) {
					plain |= l.Fields
				}
			}
			for _, name := range a.Fields() {
				field := algo.FieldsOf(name)
				if field.Within(m.fields) && !field.Within(merged) || field.Within(m.plain) && !field.Within(plain) {
					t.Errorf("no %s that is merged or plain has %s", a, name)
				}
			}
		}
	}
}
