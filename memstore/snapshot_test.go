package memstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// variety contains limits whose states cover every form that a snapshot can contain.
var variety = []engine.Limit{
	rule.TokenBucket(rule.PerHour(10)),
	rule.FixedWindow(rule.PerHour(10)),
	rule.SlidingWindow(rule.PerHour(10)),
	rule.SlidingLog(rule.PerHour(10)),
	rule.WarmUp(rule.PerHour(10), time.Hour),
}

// small is a store with one shard.
var small = memstore.Config{MaxKeys: 1000}

func allow(t *testing.T, s engine.Store, key string, limit engine.Limit, cost int64) engine.Answer {
	t.Helper()
	ops, results := []engine.Op{engine.Single(engine.OpAllow, key, limit, cost)}, make([]engine.Answer, 1)
	s.Do(t.Context(), ops, results)
	return results[0]
}

// filled returns a store with unexpired keys of all kinds, and its snapshot.
func filled(t *testing.T, c memstore.Config, keys int) (*memstore.Store, []byte) {
	t.Helper()
	s, err := memstore.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for i := range keys {
		for _, limit := range variety {
			if r := allow(t, s, fmt.Sprint("k", i), limit, 1); r.Err != nil || !r.Allowed {
				t.Fatalf("%s: %+v", limit, r)
			}
		}
	}
	return s, save(t, s)
}

func save(t *testing.T, s *memstore.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := s.Save(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRestoreWithOtherBounds restores snapshots of stores of three sizes into stores of the same three sizes, with
// fewer, as many or more shards. Spent units stay spent.
func TestRestoreWithOtherBounds(t *testing.T) {
	const keys = 300
	clock := headgatetest.NewClock()
	for _, maxKeys := range []int{2000, 100_000, 10_000_000} {
		_, snapshot := filled(t, memstore.Config{MaxKeys: maxKeys, Clock: clock.Now}, keys)
		for _, other := range []int{2000, 100_000, 10_000_000} {
			r, err := memstore.Restore(memstore.Config{MaxKeys: other, Clock: clock.Now}, bytes.NewReader(snapshot))
			if err != nil {
				t.Fatal(err)
			}
			if n := r.Stats().Keys; n != int64(keys*len(variety)) {
				t.Errorf("%d in %d: %d keys", maxKeys, other, n)
			}
			for i := range keys {
				for _, limit := range variety[:4] {
					if got := allow(t, r, fmt.Sprint("k", i), limit, 1); got.Binds().Remaining != 8 {
						t.Fatalf("%d in %d: %s: %+v, want 8 remaining", maxKeys, other, limit, got)
					}
				}
			}
			if again := save(t, r); len(again) == 0 {
				t.Error("the restored store is not saved")
			}
			_ = r.Close()
		}
	}
}

// TestRestoreLeavesOut checks that Restore drops expired keys.
func TestRestoreLeavesOut(t *testing.T) {
	clock := headgatetest.NewClock()
	s, snapshot := filled(t, memstore.Config{Clock: clock.Now}, 1)
	clock.Advance(3 * time.Hour)
	r, err := memstore.Restore(memstore.Config{Clock: clock.Now}, bytes.NewReader(snapshot))
	if err != nil || r.Stats().Keys != 0 {
		t.Errorf("%+v, %v, want no keys", r.Stats(), err)
	}
	_ = r.Close()
	if n, err := s.Save(t.Context(), io.Discard); n != 0 || err != nil {
		t.Errorf("%d keys are saved, %v, want none", n, err)
	}
}

// TestSnapshotOfAnother checks that an incomplete or foreign snapshot is rejected with a reason.
func TestSnapshotOfAnother(t *testing.T) {
	_, snapshot := filled(t, small, 2)
	for name, c := range map[string]struct{ text, want string }{
		"foreign":      {"package main\n", "not one of this store"},
		"without line": {strings.Repeat("x", 10_000), "not one of this store"},
		"empty":        {"", "cut off"},
		"later":        {"headgate snapshot 2\nanything", `format "2"; accepted: "1"`},
		"longer":       {string(snapshot) + "x", "cut off or was changed"},
		"twice":        {string(snapshot) + string(snapshot), "cut off or was changed"},
	} {
		if _, err := memstore.Restore(small, strings.NewReader(c.text)); !errors.Is(err, memstore.ErrSnapshot) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for i := range snapshot {
		if _, err := memstore.Restore(small, bytes.NewReader(snapshot[:i])); !errors.Is(err, memstore.ErrSnapshot) {
			t.Fatalf("cut off after %d of %d bytes: %v", i, len(snapshot), err)
		}
		changed := bytes.Clone(snapshot)
		changed[i] ^= 1 << (i % 8)
		if _, err := memstore.Restore(small, bytes.NewReader(changed)); !errors.Is(err, memstore.ErrSnapshot) {
			t.Fatalf("byte %d of %d changed: %v", i, len(snapshot), err)
		}
	}
}

// TestRestoreIntoTooFewKeys checks that the error names the field.
func TestRestoreIntoTooFewKeys(t *testing.T) {
	_, snapshot := filled(t, small, 2)
	_, err := memstore.Restore(memstore.Config{MaxKeys: 9}, bytes.NewReader(snapshot))
	if input, ok := errors.AsType[*engine.InputError](err); !ok || input.Field != "max_keys" {
		t.Errorf("%v", err)
	}
	if _, err := memstore.Restore(memstore.Config{MaxKeys: -1}, bytes.NewReader(snapshot)); err == nil {
		t.Error("max_keys -1 is accepted")
	}
}

// Restored values keep their versions, so that an older value never replaces a newer one.
func TestValuesAreRestored(t *testing.T) {
	s, _ := filled(t, small, 1)
	version, _, err := s.CompareAndSet(t.Context(), "secret", 0, "text")
	if err != nil {
		t.Fatal(err)
	}
	r, err := memstore.Restore(small, bytes.NewReader(save(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, restored, err := r.Get(t.Context(), "secret")
	if err != nil || text != "text" || restored != version {
		t.Errorf("%q, %d, %v, want %d", text, restored, err, version)
	}
	if _, set, err := r.CompareAndSet(t.Context(), "secret", 0, "other"); set || err != nil {
		t.Errorf("an older version replaces it: %v", err)
	}
}

// full is a writer with room for only a few bytes, like a full disk.
type full struct{ left int }

var errFull = errors.New("disk full")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return len(p) + f.left, errFull
	}
	return len(p), nil
}

// If the disk becomes full, Save returns the writer's error, regardless of the byte where this happens. Save also
// returns the context's error, and returns ErrClosed once the store is closed. The store keeps deciding.
func TestSaveFails(t *testing.T) {
	s, snapshot := filled(t, small, 2)
	for room := range len(snapshot) {
		if _, err := s.Save(t.Context(), &full{room}); !errors.Is(err, errFull) {
			t.Fatalf("room for %d of %d bytes: %v", room, len(snapshot), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Save(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: %v", err)
	}
	if r := allow(t, s, "k0", variety[0], 1); r.Binds().Remaining != 8 {
		t.Errorf("%+v", r)
	}
	_ = s.Close()
	if _, err := s.Save(t.Context(), io.Discard); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// Callers spend while snapshots are written. A restored store admits at most the units left after the charges before
// the snapshot.
func TestSaveUnderLoad(t *testing.T) {
	const keys, capacity = 20, 200
	clock := headgatetest.NewClock()
	s, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	limit := rule.TokenBucket(rule.PerDay(capacity))
	spend := func(s *memstore.Store, key, times int) (passed int) {
		for range times {
			if allow(t, s, fmt.Sprint(key), limit, 1).Allowed {
				passed++
			}
		}
		return passed
	}
	for key := range keys {
		if n := spend(s, key, 50); n != 50 {
			t.Fatalf("%d passed", n)
		}
	}
	var callers sync.WaitGroup
	for key := range keys {
		callers.Go(func() { spend(s, key, 100) })
	}
	snapshot := save(t, s)
	callers.Wait()
	r, err := memstore.Restore(memstore.Config{Clock: clock.Now}, bytes.NewReader(snapshot))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for key := range keys {
		if n := spend(r, key, 2*capacity); n < capacity-150 || n > capacity-50 {
			t.Errorf("key %d: %d pass after the restore, want %d to %d", key, n, capacity-150, capacity-50)
		}
	}
}

// Restored bytes can be saved and restored again with the same number of keys. Other bytes are rejected without a
// panic.
func FuzzRestore(f *testing.F) {
	clock := headgatetest.NewClock()
	c := memstore.Config{MaxKeys: 100, Clock: clock.Now}
	s, err := memstore.New(c)
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	for _, limit := range variety {
		s.Do(f.Context(), []engine.Op{engine.Single(engine.OpAllow, "k", limit, 1)}, make([]engine.Answer, 1))
	}
	var seed bytes.Buffer
	if _, err := s.Save(f.Context(), &seed); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := memstore.Restore(c, bytes.NewReader(data))
		if err != nil {
			return
		}
		again, err := memstore.Restore(c, bytes.NewReader(save(t, r)))
		if err != nil || again.Stats().Keys != r.Stats().Keys {
			t.Errorf("%v; %+v, want %+v", err, again.Stats(), r.Stats())
		}
	})
}

// An open reservation is in the snapshot, and ends in the restored store as it would have in the original store.
func TestRestoreOpenReservation(t *testing.T) {
	clock := headgatetest.NewClock()
	s, err := memstore.New(memstore.Config{MaxKeys: 1000, Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	op := engine.Single(engine.OpReserve, "k", variety[1], 4)
	op.ID, op.Term = "id", &engine.Term{Within: time.Minute, Then: engine.ReleaseCharge}
	results := make([]engine.Answer, 1)
	if s.Do(t.Context(), []engine.Op{op}, results); results[0].Err != nil || !results[0].Allowed {
		t.Fatalf("%+v", results[0])
	}
	r, err := memstore.Restore(memstore.Config{MaxKeys: 1000, Clock: clock.Now}, bytes.NewReader(save(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	clock.Advance(time.Minute)
	due, err := r.Due(t.Context())
	if err != nil || len(due) != 1 {
		t.Fatalf("%d reservations are overdue, %v; want one", len(due), err)
	}
	r.Do(t.Context(), []engine.Op{due[0].Overdue()}, results)
	if got := allow(t, r, "k", variety[1], 1); !results[0].Found || got.Binds().Remaining != 9 {
		t.Errorf("found=%t, %+v; want all 4 units given back", results[0].Found, got)
	}
}

// during is a buffer that calls the function do once, when it is first written to.
type during struct {
	bytes.Buffer
	do func()
}

func (d *during) Write(p []byte) (int, error) {
	if do := d.do; do != nil {
		d.do = nil
		do()
	}
	return d.Buffer.Write(p)
}

// A reservation is not restored if it is made while a snapshot is written, after its key was copied. Its end would
// give back other callers' units. A reservation that is settled while the snapshot is written is not restored either.
func TestReserveDuringSave(t *testing.T) {
	clock := headgatetest.NewClock()
	config := memstore.Config{MaxKeys: 1000, Clock: clock.Now}
	s, err := memstore.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for i := range 500 { // more than the writer's buffer, so that it writes before the reservations
		allow(t, s, fmt.Sprint("k", i), variety[3], 6)
	}
	var settled *engine.Reservation
	reserve := func(key string) {
		op, results := engine.Single(engine.OpReserve, key, variety[3], 4), make([]engine.Answer, 1)
		op.ID, op.Term = "id of "+key, &engine.Term{Within: time.Minute, Then: engine.ReleaseCharge}
		if s.Do(t.Context(), []engine.Op{op}, results); results[0].Err != nil || !results[0].Allowed {
			t.Errorf("%+v", results[0])
			return
		}
		settled = results[0].Reservation(&op, op.ID)
	}
	reserve("k1")
	snapshot := &during{do: func() {
		s.Do(t.Context(), []engine.Op{settled.Settle(4)}, make([]engine.Answer, 1))
		reserve("k0")
	}}
	if _, err := s.Save(t.Context(), snapshot); err != nil || snapshot.do != nil {
		t.Fatal(err, "nothing was reserved meanwhile")
	}
	r, err := memstore.Restore(config, &snapshot.Buffer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	clock.Advance(time.Minute)
	due, err := r.Due(t.Context())
	if err != nil || len(due) > 0 {
		t.Errorf("%d reservations are restored, %v", len(due), err)
	}
	for _, one := range due {
		r.Do(t.Context(), []engine.Op{one.Overdue()}, make([]engine.Answer, 1))
	}
	if got := allow(t, r, "k0", variety[3], 0); got.Binds().Remaining != 4 {
		t.Errorf("%+v; want the 6 units of others still charged", got)
	}
}

// A snapshot without a context, a writer or a reader is an error that names it.
func TestSnapshotOfNil(t *testing.T) {
	s, _ := filled(t, small, 1)
	_, noContext := s.Save(nil, io.Discard) //nolint:staticcheck // the mistake under test
	_, noWriter := s.Save(t.Context(), nil)
	_, noReader := memstore.Restore(small, nil)
	for field, err := range map[string]error{"ctx": noContext, "to": noWriter, "from": noReader} {
		if input, ok := errors.AsType[*engine.InputError](err); !ok || input.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
