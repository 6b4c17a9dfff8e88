package memstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

// open returns a store with the default configuration.
func open(t *testing.T) *Store {
	t.Helper()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask runs one operation and returns its result.
func ask(s *Store, op engine.Op) engine.Answer {
	ops, results := []engine.Op{op}, make([]engine.Answer, 1)
	s.Do(context.Background(), ops, results)
	return results[0]
}

// stored returns the number of states in a store.
func stored(s *Store) (n int64) {
	for i := range s.shards {
		for _, m := range s.shards[i].table.marks {
			if m >= full {
				n++
			}
		}
	}
	return n
}

// A bound limit gives the same answers as the steps, or no answer, whatever the limit's parameters and the changes to
// the keys. Do gives the same answers too. A store with a custom clock decides only by the steps.
func TestBoundDecidesAsDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		one := open(t)
		other, err := New(Config{Clock: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		var limits []engine.Limit
		var bounds []engine.Bound
		for _, text := range []string{"3/1s burst 5", "7/1s burst 20", "fixed-window 4/1s", "fixed-window 6/1s"} {
			limits = append(limits, parse(t, text))
			bounds = append(bounds, one.Bind("s", limits[len(limits)-1]))
		}
		decided := 0
		for step := range 20_000 {
			at := random.IntN(len(limits))
			op := engine.Single(engine.OpAllow, fmt.Sprint(random.IntN(6)), limits[at], random.Int64N(4))
			op.Space = "s"
			switch random.IntN(8) {
			case 0:
				op.Kind = []engine.Kind{engine.OpGive, engine.OpPeek, engine.OpReset}[random.IntN(3)]
			case 1:
				time.Sleep(time.Duration(random.IntN(700_000)) * time.Microsecond)
			}
			want := ask(other, op)
			if op.Kind == engine.OpAllow {
				if got := bounds[at].Allow(t.Context(), op.Key, op.Charges[0].Cost); got.Decided {
					decided++
					o := &want
					if (got != engine.Simple{
						Decided: true, Allowed: o.Allowed, AtMicros: o.AtMicros, Remaining: o.Binds().Remaining,
						RetryAfter: o.Binds().RetryAfter.Microseconds(), ResetAfter: o.Binds().ResetAfter.Microseconds(),
					}) || o.Binds().Limit != limits[at].Capacity() || o.Delay != 0 {
						t.Fatalf("step %d, %v: %+v, want %+v", step, op, got, want)
					}
					continue
				}
			}
			if got := ask(one, op); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("step %d, %v: %+v, want %+v", step, op, got, want)
			}
			if a := one.Stats(); a.Keys != stored(one) {
				t.Fatalf("step %d, %v: %+v, and %d states", step, op, a, stored(one))
			}
		}
		if decided < 5000 {
			t.Errorf("only %d requests were decided by the bound limit", decided)
		}
	})
}

// An allow on a limit with any field gets the same answer bound, prepared and by the steps. Each limit has a counter of
// its own.
func TestEveryFieldIsDecidedAsDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(3, 4))
		one := open(t)
		other, err := New(Config{Clock: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range algo.Algorithms() {
			for i, limit := range rule.EveryField(a) {
				op := engine.Single(engine.OpAllow, "k", limit, 1)
				op.Space = fmt.Sprint(a, i)
				if a.Holds() || a.Punishes() || !one.prepare(&op, new(prepared)) {
					continue
				}
				bound := one.Bind(op.Space, limit)
				for range 60 {
					op.Key, op.Charges[0].Cost = fmt.Sprint("g:", random.IntN(2)), 1+random.Int64N(1+limit.Capacity()/2)
					want := ask(other, op)
					if bound != nil && random.IntN(2) == 0 {
						if got := bound.Allow(t.Context(), op.Key, op.Charges[0].Cost); got.Decided {
							o := want.Binds()
							same := got.Remaining == o.Remaining && got.ResetAfter == o.ResetAfter.Microseconds()
							if got.Allowed != want.Allowed || !same {
								t.Fatalf("%v: bound %+v, want %+v", op, got, want)
							}
							continue
						}
					}
					if got := ask(one, op); fmt.Sprint(got) != fmt.Sprint(want) {
						t.Fatalf("%v: %+v, want %+v", op, got, want)
					}
					time.Sleep(time.Duration(random.ExpFloat64() * float64(limit.Rates()[0].Period) / 20))
				}
			}
		}
	})
}

// A state is read with the rate and burst with which it was written. A bucket that was emptied with a limit of 10 a
// minute still lacks ten units when it is read with a limit of 10 a day.
func TestBoundReadsOtherNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		minute, day := parse(t, "10/1m"), parse(t, "10/1d")
		allow(t, s, minute, 10)
		if a := s.Bind("", day).Allow(t.Context(), "k", 1); a.Allowed {
			t.Errorf("%+v of a bucket that is empty", a)
		}
		if r := ask(s, engine.Single(engine.OpAllow, "k", day, 1)); r.Err != nil || r.Allowed {
			t.Errorf("%+v, %v of a bucket that is empty", r, r.Err)
		}
	})
}

// Requests that a bound limit cannot decide fall back to Do, which returns the error or the answer.
func TestBoundLeavesTheRest(t *testing.T) {
	s := open(t)
	limit := parse(t, "10/1s")
	b := s.Bind("", limit)
	if a := b.Allow(t.Context(), "k", 1); a.Decided || a.Allowed {
		t.Errorf("a key that has no slot yet: %+v", a)
	}
	allow(t, s, limit, 1) // creates the state
	if a := b.Allow(t.Context(), "k", 1); !a.Decided || !a.Allowed || a.Remaining != 8 {
		t.Errorf("%+v, want 8 remaining", a)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for name, a := range map[string]engine.Simple{
		"an ended context": b.Allow(ended, "k", 1),
		"no key":           b.Allow(t.Context(), "", 1),
		"a long key":       b.Allow(t.Context(), strings.Repeat("k", engine.MaxKeyBytes+1), 1),
		"no unit":          b.Allow(t.Context(), "k", 0),
		"fewer":            b.Allow(t.Context(), "k", -1),
		"beyond the burst": b.Allow(t.Context(), "k", 11),
	} {
		if a.Decided || a.Allowed {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if a := b.Allow(t.Context(), "k", 1); a.Decided {
		t.Errorf("a closed store decided %+v", a)
	}
	for _, text := range []string{"pacer 1/1s max-queue 3", "1/1s debt 3", "1000/1d align UTC", "sliding-log 5/1s", "unlimited"} {
		if limit, err := engine.ParseLimit(text); err == nil && s.Bind("", limit) != nil {
			t.Errorf("%s is bound", text)
		}
	}
}

// A store drops a limit's scope when no state refers to it. After that, a bound limit looks it up again.
func TestBoundOutlivesItsScope(t *testing.T) {
	s := open(t)
	limit := parse(t, "10/1s")
	b := s.Bind("", limit)
	b.Allow(t.Context(), "k", 1) // there is no state
	for i := range 3 * fewScopes {
		s.scopes.of(fmt.Sprint(i), limit)
	}
	allow(t, s, limit, 1)
	b.Allow(t.Context(), "k", 1) // its scope was dropped
	if a := b.Allow(t.Context(), "k", 1); !a.Decided || !a.Allowed {
		t.Errorf("%+v, want a decision", a)
	}
}

// In a call with many operations, each operation gets the same answer as it would alone.
func TestManyOperationsAreDecidedAsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(3, 4))
		together, apart := open(t), open(t)
		limits := []engine.Limit{parse(t, "3/1s burst 5"), parse(t, "fixed-window 4/1s"), parse(t, "sliding-log 3/1s"), parse(t, "7/1s burst 20")}
		for range 300 {
			var ops []engine.Op
			for range 1 + random.IntN(3*aheadOps) {
				kind := engine.OpAllow
				if random.IntN(8) == 0 {
					kind = []engine.Kind{engine.OpGive, engine.OpPeek, engine.OpReset}[random.IntN(3)]
				}
				ops = append(ops, engine.Single(kind, fmt.Sprint(random.IntN(40)), limits[random.IntN(len(limits))], random.Int64N(3)))
			}
			got := make([]engine.Answer, len(ops))
			skipped := random.IntN(len(ops))
			got[skipped].Err = engine.ErrClosed
			together.Do(t.Context(), ops, got)
			for i := range ops {
				if i == skipped {
					if got[i].Err != engine.ErrClosed || got[i].AtMicros != 0 {
						t.Fatalf("an operation with an error was decided: %+v", got[i])
					}
				} else if want := ask(apart, ops[i]); fmt.Sprint(got[i]) != fmt.Sprint(want) {
					t.Fatalf("%v: %+v, want %+v", ops[i], got[i], want)
				}
			}
			time.Sleep(time.Duration(random.IntN(300_000)) * time.Microsecond)
		}
	})
}

// A limit with a field that the fast path does not know is decided by the steps.
func TestUnknownFieldLeavesTheFastPath(t *testing.T) {
	s := open(t)
	for _, text := range []string{"771/1h", "pacer 771/1h max_queue 5", "fixed-window 771/1h", "fair-share 771/1h"} {
		limit := parse(t, text)
		op := engine.Single(engine.OpAllow, "k", limit, 1)
		if !s.prepare(&op, new(prepared)) {
			t.Errorf("%s has no fast path", text)
		}
		fields := &limit.Numbers().Fields
		*fields |= 1 << 63
		if s.prepare(&op, new(prepared)) || s.Bind("", limit) != nil {
			t.Errorf("%s with an unknown field takes the fast path", text)
		}
		*fields &^= 1 << 63
	}
}
