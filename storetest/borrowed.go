package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
)

// Borrow returns a store that lends its operations to the wrapped store. The operations' strings share one buffer, as
// if read from a connection. After Do returns, the buffer, the operations and the results are overwritten. If a store
// keeps any of them, it later decides on keys that no caller has named.
func Borrow(store engine.Store) engine.Store { return &borrower{Store: store} }

type borrower struct {
	engine.Store
	loans sync.Pool // of *loan; the next call overwrites this call's memory
}

// loan holds the memory for one call.
type loan struct {
	text    []byte
	charges []engine.Charge
	ops     []engine.Op
	results []engine.Answer
}

// Unwrap returns the store under test.
func (b *borrower) Unwrap() engine.Store { return b.Store }

func (b *borrower) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	l, reused := b.loans.Get().(*loan)
	if !reused {
		l = new(loan)
	}
	l.copy(ops)
	l.results = append(l.results[:0], results...)
	b.Store.Do(ctx, l.ops, l.results)
	copy(results, l.results)
	l.overwrite()
	b.loans.Put(l)
}

// copy copies the operations into the loan's memory. It first makes the memory large enough, because the buffer must
// not move afterwards.
func (l *loan) copy(ops []engine.Op) {
	bytes, charges := 0, 0
	for i := range ops {
		bytes += len(ops[i].Space) + len(ops[i].Key) + len(ops[i].ID)
		charges += len(ops[i].Charges)
		for _, c := range ops[i].Charges {
			bytes += len(c.Space) + len(c.Key)
		}
	}
	l.ops, l.charges = append(l.ops[:0], ops...), make([]engine.Charge, 0, charges)
	if l.text = l.text[:0]; cap(l.text) < bytes {
		l.text = make([]byte, 0, 2*bytes)
	}
	for i := range l.ops {
		op := &l.ops[i]
		op.Space, op.Key, op.ID = l.lend(op.Space), l.lend(op.Key), l.lend(op.ID)
		from := len(l.charges)
		for _, c := range op.Charges {
			c.Space, c.Key = l.lend(c.Space), l.lend(c.Key)
			l.charges = append(l.charges, c)
		}
		op.Charges = l.charges[from:len(l.charges):len(l.charges)]
	}
}

// lend copies a string into the buffer and returns the copy.
func (l *loan) lend(s string) string {
	from := len(l.text)
	l.text = append(l.text, s...)
	return unsafe.String(unsafe.SliceData(l.text[from:]), len(s))
}

func (l *loan) overwrite() {
	for i := range l.text {
		l.text[i] ^= 0x15
	}
	clear(l.ops)
	clear(l.charges)
	clear(l.results)
}

// borrowing returns options that wrap each store with Borrow.
func (o Options) borrowing() Options {
	open := o.New
	o.New = func(t *testing.T, now func() time.Time) engine.Store {
		t.Helper()
		return Borrow(open(t, now))
	}
	return o
}

// runBorrowed (regression: bug 42) checks that a store does not depend on the memory of keys, namespaces and ids after
// the call. They share one buffer, which is overwritten after the call.
func runBorrowed(t *testing.T, o Options) {
	store := Borrow(o.New(t, headgatetest.NewClock().Now))
	held := rule.Concurrency(2)
	limits := []engine.Limit{rule.TokenBucket(rule.PerHour(2)), rule.FixedWindow(rule.PerHour(2)), rule.SlidingWindow(rule.PerHour(2)), rule.SlidingLog(rule.PerHour(2))}
	const keys = 12
	each := func(run func(key, space string, limit engine.Limit)) {
		for i := range keys {
			run(fmt.Sprintf("key-%02d", i), fmt.Sprintf("space-%d", i%2), limits[i%len(limits)])
		}
	}
	each(func(key, space string, limit engine.Limit) {
		for i, want := range []bool{true, true, false, false} {
			request := op(engine.OpAllow, key, limit, 1, "")
			request.Space = space
			if r := do(t, store, request); r.Err != nil || r.Allowed != want {
				t.Errorf("%s, request %d: allowed=%t (%v), want %t", key, i, r.Allowed, r.Err, want)
			}
		}
		for _, id := range []string{"holder-1", "holder-2"} {
			if r := do(t, store, op(engine.OpAcquire, key, held, 1, id)); !r.Allowed {
				t.Errorf("%s: %s is denied", key, id)
			}
		}
	})
	each(func(key, space string, limit engine.Limit) {
		request := op(engine.OpReset, key, limit, 0, "")
		request.Space = space
		if r := do(t, store, request); !r.Found {
			t.Errorf("%s has spent units, but its state is not found", key)
		}
		for _, id := range []string{"holder-1", "holder-2"} {
			if r := do(t, store, op(engine.OpRenew, key, held, 1, id)); !r.Allowed {
				t.Errorf("%s: %s has lost its permit", key, id)
			}
		}
	})
	each(func(key, _ string, _ engine.Limit) {
		for _, id := range []string{"holder-1", "holder-2"} {
			if r := do(t, store, op(engine.OpRelease, key, held, 1, id)); !r.Found {
				t.Errorf("%s: the renewed permit of %s is not found", key, id)
			}
		}
	})
}
