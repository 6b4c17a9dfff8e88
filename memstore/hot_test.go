package memstore

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/algo"
)

// TestHot: a key that is refused again and again is read without the lock, and
// only under its own limit; whatever changes its state is seen at once.
func TestHot(t *testing.T) {
	limit := headgate.Must(headgate.TokenBucket(headgate.PerHour(1), headgate.Burst(10)))
	more := headgate.Must(headgate.TokenBucket(headgate.PerHour(1), headgate.Burst(11)))
	for _, c := range []struct {
		name   string
		change func(ctx context.Context, l *headgate.Limiter) error
		passes headgate.Limit
	}{
		{"give", func(ctx context.Context, l *headgate.Limiter) error {
			_, err := l.Give(ctx, "k", limit, 1)
			return err
		}, limit},
		{"reset", func(ctx context.Context, l *headgate.Limiter) error {
			_, err := l.Reset(ctx, "k", limit)
			return err
		}, limit},
		{"give of several", func(ctx context.Context, l *headgate.Limiter) error {
			both := []headgate.Charge{{Limit: limit, Cost: 1}, {Limit: headgate.NoLimit(), Cost: 1}}
			return l.Do(ctx, []headgate.Op{{Kind: headgate.OpGive, Key: "k", Charges: both}})[0].Err
		}, limit},
		{"eviction", func(ctx context.Context, l *headgate.Limiter) error {
			_, err := l.Allow(ctx, "the only key that is kept", limit)
			return err
		}, limit},
		{"a larger burst", func(context.Context, *headgate.Limiter) error { return nil }, more},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := New(Config{MaxKeys: 1, WhenFull: Evict})
			if err != nil {
				t.Fatal(err)
			}
			l, ctx := headgate.New(s), context.Background()
			heat(t, s, l, limit)
			if err := c.change(ctx, l); err != nil {
				t.Fatal(err)
			}
			if d, err := l.Allow(ctx, "k", c.passes); err != nil || !d.Allowed {
				t.Errorf("after it: %+v, %v", d, err)
			}
		})
	}
}

// heat empties a key's bucket and has it refused until it is hot.
func heat(t *testing.T, s *Store, l *headgate.Limiter, limit headgate.Limit) {
	t.Helper()
	key := s.secret.hash("k")
	h := &s.shards[s.shard(key)]
	for range 1 << 24 {
		d, err := l.Allow(context.Background(), "k", limit)
		if err != nil {
			t.Fatal(err)
		}
		if h.hot.class.Load() != nil && !d.Allowed {
			if d.Limit != limit.Capacity() || d.Remaining != 0 || d.RetryAfter <= 0 || d.ResetAfter < d.RetryAfter {
				t.Fatalf("refused with %+v", d)
			}
			return
		}
	}
	t.Fatal("it is never hot")
}

// TestHotIsWhole: who reads while another writes reads one state or none.
func TestHotIsWhole(t *testing.T) {
	var shared hot
	limit := headgate.Must(headgate.FixedWindow(headgate.PerHour(1000)))
	classes := [2]*class{{limit: limit}, {limit: limit}}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for n := uint64(0); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			// The state's end tells which key and count it belongs to.
			shared.set(hash{n % 2, n % 2}, classes[n%2], algo.Words{1 + n%1000, 1_000_000 + n%2000}, 0)
		}
	})
	met := 0
	for i := 0; met < 1000; i++ {
		n := uint64(i % 2)
		var o algo.Outcome
		if !shared.refuse(hash{n, n}, classes[n], limit.Numbers(), 0, 1000, &o) {
			continue
		}
		met++
		end := uint64(o.Wait) - 1_000_000
		if end%2 != n || o.Remaining != 1000-int64(1+end%1000) {
			t.Fatalf("key %d was answered the state %d, remaining %d", n, end, o.Remaining)
		}
	}
	close(stop)
	wg.Wait()
}

// TestHotFor: nobody is refused by a state that is later than his clock, another
// key's, or another limit's.
func TestHotFor(t *testing.T) {
	var shared hot
	limit := headgate.Must(headgate.FixedWindow(headgate.PerHour(1)))
	c := &class{limit: limit}
	shared.set(hash{1, 2}, c, algo.Words{1, 1_000_000}, 500)
	for now, want := range map[int64]bool{499: false, 500: true} {
		if got := shared.refuse(hash{1, 2}, c, limit.Numbers(), now, 1, new(algo.Outcome)); got != want {
			t.Errorf("at %d: refused %v, want %v", now, got, want)
		}
	}
	for _, key := range []hash{{1, 3}, {2, 2}} {
		if shared.refuse(key, c, limit.Numbers(), 500, 1, new(algo.Outcome)) {
			t.Errorf("%v is refused by another key's state", key)
		}
	}
	if shared.refuse(hash{1, 2}, &class{limit: limit}, limit.Numbers(), 500, 1, new(algo.Outcome)) {
		t.Error("refused by another limit's state")
	}
}

// TestHotInOrder: while some ask for two units and are refused without the lock,
// another gives one and takes it. Each is answered by the state of its instant.
func TestHotInOrder(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, ctx := headgate.New(s), context.Background()
	limit := headgate.Must(headgate.TokenBucket(headgate.PerHour(1), headgate.Burst(10)))
	heat(t, s, l, limit)

	var wg sync.WaitGroup
	stop := make(chan struct{})
	refused := make([][]headgate.Decision, 2)
	for g := range refused {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				d, err := l.AllowN(ctx, "k", limit, 2)
				if err != nil || d.Allowed {
					t.Errorf("two units: %+v, %v", d, err)
					return
				}
				if len(refused[g]) < 1<<20 {
					refused[g] = append(refused[g], d)
				}
			}
		})
	}
	var changes []time.Time // there is a unit after the first, none after the second, …
	for range 20_000 {
		given, err := l.Give(ctx, "k", limit, 1)
		taken, err2 := l.Allow(ctx, "k", limit)
		if err != nil || err2 != nil || given.Remaining != 1 || !taken.Allowed {
			t.Errorf("given %+v, %v; taken %+v, %v", given, err, taken, err2)
			break
		}
		changes = append(changes, given.At, taken.At)
	}
	close(stop)
	wg.Wait()
	for _, d := range slices.Concat(refused...) {
		n, same := slices.BinarySearchFunc(changes, d.At, time.Time.Compare)
		if !same && d.Remaining != int64(n%2) {
			t.Fatalf("%d changes before %v, and %d remaining", n, d.At, d.Remaining)
		}
	}
}
