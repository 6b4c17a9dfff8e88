package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
)

var ten = rule.Concurrency(10, rule.LeaseTime(time.Minute))

// acquire runs a permit operation of the given kind for a key, with a timeout of 20 ms.
func acquire(t *testing.T, store engine.Store, kind engine.Kind, id string) engine.Answer {
	t.Helper()
	op := engine.Single(kind, "k", ten, 1)
	op.Space, op.ID = "s", id
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	results := make([]engine.Answer, 1)
	store.Do(ctx, []engine.Op{op}, results)
	return results[0]
}

// Permits granted by shares are recorded in the store once it answers, even above the limit, so that the store denies
// until holders have left (regression: bug 60: 20 of 10 were held).
func TestPermitsOfSharesEnterTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		for i := range 10 {
			if r := acquire(t, s, engine.OpAcquire, fmt.Sprint("store", i)); r.Err != nil || !r.Allowed { // of another process
				t.Fatalf("%+v", r)
			}
		}
		s.set(headgate.ErrStoreUnavailable, false)
		for i := range 10 {
			if r := acquire(t, all[i%2].store, engine.OpAcquire, fmt.Sprint("share", i)); r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Fallback {
				t.Fatalf("%+v", r)
			}
		}
		s.set(nil, false)
		time.Sleep(5 * time.Second)
		for i := range 9 {
			if r := acquire(t, s, engine.OpRelease, fmt.Sprint("store", i)); r.Err != nil || !r.Found {
				t.Fatalf("%+v", r)
			}
		}
		if r := acquire(t, all[1].store, engine.OpAcquire, "more"); r.Err != nil || r.Allowed {
			t.Errorf("11 are held: %+v", r)
		}
		for i := range 2 { // first in the share, then in the store
			if r := acquire(t, all[i].store, engine.OpRelease, fmt.Sprint("share", i)); r.Err != nil || !r.Found {
				t.Fatalf("%+v", r)
			}
		}
		if r := acquire(t, all[1].store, engine.OpAcquire, "more"); r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Exact {
			t.Errorf("9 are held: %+v", r)
		}
		if r := acquire(t, all[1].store, engine.OpAcquire, "last"); r.Err != nil || r.Allowed {
			t.Errorf("10 are held: %+v", r)
		}
	})
}

// TestFairPermitsOfShares checks that a share divides its permits among its process's keys, which have separate ids.
// While the store lacks a permit of one key, the answers for all keys show that.
func TestFairPermitsOfShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		fair := rule.FairConcurrency(40, rule.LeaseTime(time.Minute))
		ask := func(kind engine.Kind, key, id string, cost int64) *engine.Answer {
			t.Helper()
			op := engine.Single(kind, key, fair, cost)
			op.Space, op.ID = "s", id
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			results := make([]engine.Answer, 1)
			all[0].store.Do(ctx, []engine.Op{op}, results)
			if results[0].Err != nil {
				t.Fatalf("%s %s %s: %v", kind, key, id, results[0].Err)
			}
			return &results[0]
		}
		time.Sleep(time.Minute) // a share gives no permits before a lease time has passed
		s.set(headgate.ErrStoreUnavailable, false)
		for _, c := range []struct {
			key, id string
			cost    int64
			allowed bool
		}{{"ann", "a", 18, true}, {"ann", "b", 1, false}, {"bob", "a", 1, true}, {"bob", "b", 2, false}, {"carol", "a", 1, true}, {"dave", "a", 1, false}} {
			if r := ask(engine.OpAcquire, c.key, c.id, c.cost); r.Allowed != c.allowed || r.Promise.Mode != engine.Fallback {
				t.Errorf("%d of 20 for %s: %+v", c.cost, c.key, r)
			}
		}
		if r := ask(engine.OpRelease, "carol", "a", 0); !r.Found {
			t.Error("carol's permit is lost")
		}
		if r := ask(engine.OpAcquire, "dave", "a", 1); !r.Allowed {
			t.Errorf("after a release: %+v", r)
		}
		s.set(nil, false)
		if r := ask(engine.OpAcquire, "erin", "a", 1); !r.Allowed || r.Promise.Mode != engine.Fallback {
			t.Errorf("the store has not heard of 20 permits: %+v", r)
		}
		time.Sleep(5 * time.Second)
		if r := ask(engine.OpAcquire, "fay", "a", 1); !r.Allowed || r.Promise.Mode != engine.Exact || r.Binds().Remaining > 20 {
			t.Errorf("the store has all permits: %+v", r)
		}
	})
}

// While the store does not have a permit that this process's share granted, answers for the key have the mode fallback.
func TestPermitOutsideTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		s.set(headgate.ErrStoreUnavailable, false)
		if r := acquire(t, all[0].store, engine.OpAcquire, "share"); r.Err != nil || r.Promise.Mode != engine.Fallback {
			t.Fatalf("%+v", r)
		}
		s.set(nil, false) // the store was unavailable for one call
		r := acquire(t, all[0].store, engine.OpAcquire, "store")
		// The background can send the share's permit to the store at the same instant. Then the store knows both.
		knowsBoth := r.Promise == engine.Promise{} && r.Binds().Remaining == 8
		if r.Err != nil || !r.Allowed || r.Promise != (engine.Promise{Mode: engine.Fallback, OvershootMax: 10}) && !knowsBoth {
			t.Errorf("%+v; want the share's promise", r)
		}
		time.Sleep(time.Second)
		if r := acquire(t, all[0].store, engine.OpAcquire, "again"); r.Err != nil || r.Promise.Mode != engine.Exact || r.Binds().Remaining != 7 {
			t.Errorf("%+v; want exact, and three held", r)
		}
		time.Sleep(50 * time.Second) // the permit lasts only for the rest of its lease
		if r := acquire(t, all[0].store, engine.OpRenew, "store"); r.Err != nil || !r.Allowed {
			t.Errorf("%+v", r)
		}
		time.Sleep(9 * time.Second)
		if r := acquire(t, all[0].store, engine.OpRenew, "share"); r.Err != nil || r.Allowed {
			t.Errorf("a permit lives longer than its lease: %+v", r)
		}
	})
}

// An acquire that the store grants has the mode fallback too if the share granted a permit of the same key before the
// answer came, because the store did not know the share's permit (regression: bugs 55 and 60).
func TestPermitBesideAShareInTheMeantime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		s.mu.Lock()
		s.slow = 10 * time.Millisecond
		s.mu.Unlock()
		answer := make(chan engine.Answer)
		go func() { answer <- acquire(t, all[0].store, engine.OpAcquire, "store") }()
		time.Sleep(5 * time.Millisecond)
		s.set(headgate.ErrStoreUnavailable, false)
		if r := acquire(t, all[0].store, engine.OpAcquire, "share"); r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Fallback {
			t.Fatalf("%+v", r)
		}
		if r := <-answer; r.Err != nil || !r.Allowed || r.Promise != (engine.Promise{Mode: engine.Fallback, OvershootMax: 10}) {
			t.Errorf("%+v; want the share's promise", r)
		}
	})
}

// An acquire with an unknown outcome is released in the background, again and again until a release is known to have
// arrived after the acquire, unless its caller has acquired the permit again (regression: bugs 55 and 60).
func TestUnknownAcquireIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		store, err := fallback.New(s, join(t, s, s.clock), fallback.Config{}) // the number of processes is not known, so no share answers
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		s.answer(false)
		if r := acquire(t, store, engine.OpAcquire, "lost"); r.Allowed {
			t.Fatalf("%+v", r)
		}
		s.answer(true)
		time.Sleep(time.Second)
		if left := s.left(t, ten); left != 10 {
			t.Errorf("%d are left in the store; want 10", left)
		}
		s.set(nil, true)
		if r := acquire(t, store, engine.OpAcquire, "late"); r.Allowed {
			t.Fatalf("%+v", r)
		}
		s.set(nil, false)
		time.Sleep(time.Second)
		if r := acquire(t, s.now, engine.OpAcquire, "late"); !r.Allowed { // the call arrives after the first release
			t.Fatalf("%+v", r)
		}
		time.Sleep(10 * time.Second)
		if left := s.left(t, ten); left != 10 {
			t.Errorf("%d are left in the store; want 10: a release that came too early is repeated", left)
		}
		s.set(nil, true)
		acquire(t, store, engine.OpAcquire, "again")
		time.Sleep(fallback.DefaultSlow + time.Millisecond) // the first release has no answer either
		s.set(nil, false)
		if r := acquire(t, store, engine.OpAcquire, "again"); r.Err != nil || !r.Allowed {
			t.Fatalf("%+v", r)
		}
		time.Sleep(10 * time.Second)
		if left := s.left(t, ten); left != 9 {
			t.Errorf("%d are left in the store; want 9: the permit was acquired again", left)
		}
	})
}

// A permit that the store may have granted, although no answer came, is released if the share denies it.
func TestUnknownAcquireDeniedByShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		for i := range 10 { // the last of them leaves nothing to the share of 5
			if r := acquire(t, all[(i+1)%2].store, engine.OpAcquire, fmt.Sprint(i)); !r.Allowed {
				t.Fatalf("%+v", r)
			}
		}
		for i := range 5 {
			acquire(t, all[1].store, engine.OpRelease, fmt.Sprint(2*i))
		}
		s.answer(false)
		if r := acquire(t, all[0].store, engine.OpAcquire, "sixth"); r.Err != nil || r.Allowed {
			t.Fatalf("%+v", r)
		}
		s.answer(true)
		time.Sleep(time.Second)
		if left := s.left(t, ten); left != 5 {
			t.Errorf("%d are left in the store; want 5", left)
		}
	})
}

// A release that the store did not receive is repeated.
func TestReleaseIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{})
		defer end(t, all)
		if r := acquire(t, all[0].store, engine.OpAcquire, "id"); r.Err != nil || !r.Allowed {
			t.Fatalf("%+v", r)
		}
		s.set(headgate.ErrStoreUnavailable, false)
		if r := acquire(t, all[0].store, engine.OpRelease, "id"); !errors.Is(r.Err, headgate.ErrStoreUnavailable) {
			t.Errorf("%+v; want the error", r)
		}
		s.set(nil, false)
		time.Sleep(time.Second)
		if left := s.left(t, ten); left != 10 {
			t.Errorf("%d are left in the store; want 10", left)
		}
	})
}

// If the share and the store have both granted a permit, but the store's answer was lost, the permit is released in
// both, even if the store is unavailable at the time of the release.
func TestPermitOfBothIsReleased(t *testing.T) {
	for _, away := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			all := s.start(t, 2, fallback.Config{})
			defer end(t, all)
			s.answer(false)
			if r := acquire(t, all[0].store, engine.OpAcquire, "both"); r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Fallback {
				t.Fatalf("%+v", r)
			}
			if away {
				s.set(headgate.ErrStoreUnavailable, false)
			}
			if r := acquire(t, all[0].store, engine.OpRelease, "both"); r.Err != nil || !r.Found {
				t.Fatalf("%+v", r)
			}
			s.set(nil, false)
			s.answer(true)
			time.Sleep(time.Second)
			if left := s.left(t, ten); left != 10 {
				t.Errorf("away %t: %d are left in the store; want 10", away, left)
			}
		})
	}
}

// If the store misses the renewal of a share's permit, the permit is sent to the store again, because the holder
// continues and the store must not drop the permit before the holder is done.
func TestMissedRenewalIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		s.set(headgate.ErrStoreUnavailable, false)
		if r := acquire(t, all[0].store, engine.OpAcquire, "id"); r.Err != nil || !r.Allowed {
			t.Fatalf("%+v", r)
		}
		s.set(nil, false)
		time.Sleep(40 * time.Second) // the store has the permit for another 20 s
		s.set(headgate.ErrStoreUnavailable, false)
		if r := acquire(t, all[0].store, engine.OpRenew, "id"); r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Fallback {
			t.Fatalf("%+v", r)
		}
		s.set(nil, false)
		time.Sleep(50 * time.Second)
		if left := s.left(t, ten); left != 9 {
			t.Errorf("%d are left in the store; want 9: the permit is held", left)
		}
		if r := acquire(t, all[0].store, engine.OpRelease, "id"); r.Err != nil || !r.Found {
			t.Errorf("%+v", r)
		}
		if left := s.left(t, ten); left != 10 {
			t.Errorf("%d are left in the store; want 10", left)
		}
	})
}

// A permit granted by both the share and the store is owed again after another loss of data (regression: bugs 55 and 60).
func TestPermitInDoubtIsOwedAfterAnotherLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := twoAfterALoss(t, s)
		if r := acquire(t, all[0], engine.OpAcquire, "id"); r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Fallback {
			t.Fatalf("%+v", r)
		}
		s.lose(t)
		if r := acquire(t, all[0], engine.OpRenew, "id"); r.Err != nil || !r.Allowed {
			t.Fatalf("%+v", r)
		}
		time.Sleep(time.Second)
		if left := s.left(t, ten); left != 9 {
			t.Errorf("%d are left in the store; want 9: the permit is held", left)
		}
	})
}

// gate is a store that holds back operations of one kind, before or after it decides them.
type gate struct {
	engine.Store

	kind   engine.Kind
	before bool
	closed atomic.Pointer[chan struct{}] // nil while the gate is open
}

func (g *gate) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	wait := func(now bool) {
		if closed := g.closed.Load(); closed != nil && ops[0].Kind == g.kind && now {
			<-*closed
		}
	}
	wait(g.before)
	g.Store.Do(ctx, ops, results)
	wait(!g.before)
}

// While the release of an unknown acquire is in flight, an acquire of the same permit waits for it. While such an
// acquire is in progress, the release is not sent.
func TestAcquireRacesItsRelease(t *testing.T) {
	for name, kind := range map[string]engine.Kind{"a release in flight": engine.OpRelease, "an acquire in progress": engine.OpAcquire} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, closed := newServer(t), make(chan struct{})
				g := &gate{Store: s, kind: kind, before: kind == engine.OpRelease}
				store, err := fallback.New(g, join(t, s, s.clock), fallback.Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				if g.before {
					g.closed.Store(&closed)
				}
				s.set(nil, true)
				acquire(t, store, engine.OpAcquire, "again")
				synctest.Wait()
				s.set(nil, false)
				if !g.before { // the release finds no permit any more, and is repeated
					time.Sleep(time.Second)
					g.closed.Store(&closed)
				}
				answer := make(chan engine.Answer)
				go func() { answer <- acquire(t, store, engine.OpAcquire, "again") }()
				if time.Sleep(10 * time.Millisecond); !g.before {
					time.Sleep(6 * time.Second) // longer than the pause between two releases
				}
				close(closed)
				if r := <-answer; r.Err != nil || !r.Allowed {
					t.Fatalf("%+v", r)
				}
				time.Sleep(10 * time.Second)
				if left := s.left(t, ten); left != 9 {
					t.Errorf("%d are left in the store; want 9", left)
				}
			})
		})
	}
}

// A share counts the permits that the store granted to its process, until they are released, settled or lost.
// Regression: bug 157.
func TestSharesCountPermitsOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		granted := func(want int) {
			t.Helper()
			s.set(headgate.ErrStoreUnavailable, false)
			n := 0
			for ; acquire(t, all[0].store, engine.OpAcquire, fmt.Sprint("share", n)).Allowed; n++ {
			}
			if n != want {
				t.Errorf("the share granted %d permits, want %d", n, want)
			}
			for i := range n {
				acquire(t, all[0].store, engine.OpRelease, fmt.Sprint("share", i))
			}
			s.set(nil, false)
			time.Sleep(time.Second)
		}
		granted(5)
		for i := range 8 {
			if r := acquire(t, all[i%2].store, engine.OpAcquire, fmt.Sprint("store", i)); r.Err != nil || !r.Allowed || r.Promise.Mode != engine.Exact {
				t.Fatalf("%+v", r)
			}
		}
		granted(1)
		for i := range 2 {
			acquire(t, all[0].store, engine.OpRelease, fmt.Sprint("store", 2*i))
		}
		granted(3)
		do(t, s, engine.Single(engine.OpReset, "k", ten, 0))
		if r := acquire(t, all[0].store, engine.OpRenew, "store6"); r.Err != nil || r.Allowed {
			t.Errorf("a permit that the store has lost: %+v", r)
		}
		granted(4)
		op, r := call(t, all[0].store, "list", 1)
		if r.Err != nil || !r.Allowed {
			t.Fatalf("%+v", r)
		}
		if r := do(t, all[0].store, r.Reservation(&op, "list").Settle(1)); r.Err != nil || !r.Found {
			t.Fatalf("%+v", r)
		}
		call(t, all[0].store, "open", 1)
		s.set(headgate.ErrStoreUnavailable, false)
		if _, r := call(t, all[0].store, "first", 1); r.Err != nil || !r.Allowed {
			t.Errorf("beside one of two: %+v", r)
		}
		if _, r := call(t, all[0].store, "second", 1); r.Err != nil || r.Allowed {
			t.Errorf("beside two of two: %+v", r)
		}
	})
}
