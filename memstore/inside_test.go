package memstore

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Windows aligned to the clock follow the wall clock, which never goes back.
func TestWallNeverGoesBack(t *testing.T) {
	var c clock
	for _, s := range [][2]int64{{5, 5}, {3, 5}, {5, 5}, {6, 6}, {0, 6}} {
		if got := c.forward(s[0]); got != s[1] {
			t.Errorf("the wall clock says %d: %d, want %d", s[0], got, s[1])
		}
	}
}

// After any sequence of stores, changes and drops, each stored state is found under its key, and dropped states are not
// found. Expired states are dropped, and the next expiry is known.
func TestTableFindsEveryState(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s, err := New(Config{MaxKeys: 1000})
	if err != nil {
		t.Fatal(err)
	}
	h, cs := &s.shards[0], &s.scopes
	scope := cs.of("s", parse(t, "fixed-window 10/s"))
	window := func(ends int64) *algo.State { return new(algo.StoredFixed(1, ends)) }
	lasts := map[string]int64{}
	find := func(key string) int { return h.find(cs, s.secret.hash(key), scope) }
	now := algo.Instant{}
	gone := func(key string, ends int64) bool {
		if find(key) != nowhere {
			return false
		}
		if ends > now.Now {
			t.Fatalf("%q was dropped %d µs too early", key, ends-now.Now)
		}
		return true
	}
	for step := range 40_000 {
		key := strconv.Itoa(random.IntN(1 + step/200%400))
		ends := now.Now + 1 + random.Int64N(1000)
		_, known := lasts[key]
		switch place := find(key); {
		case known != (place != nowhere):
			t.Fatalf("step %d: %q is found at %d; stored: %v", step, key, place, known)
		case !known:
			h.insert(s, s.secret.hash(key), scope, window(ends), now, ends)
			maps.DeleteFunc(lasts, gone) // dropped to make room
			lasts[key] = ends
		case random.IntN(3) == 0:
			// The state now lasts longer, but its entry in the list of expiries is not updated.
			ends = lasts[key] + random.Int64N(100)
			h.write(cs, &h.table.slots[place], window(ends), ends)
			lasts[key] = ends
		case random.IntN(2) > 0:
			h.put(cs, place, scope, window(ends), ends)
			lasts[key] = ends
		default:
			h.remove(cs, place)
			h.publish()
			delete(lasts, key)
		}
		if step%50 == 0 {
			now.Now += random.Int64N(100)
			now.Wall = now.Now
			h.expire(cs, now, now.Now, 1+random.IntN(100))
			maps.DeleteFunc(lasts, gone)
			isNext(t, s, lasts, now)
		}
		if marked := len(h.table.marks) - bytes.Count(h.table.marks, []byte{empty}); marked != h.table.used+h.table.dead {
			t.Fatalf("step %d: %d used and %d dropped of %d that are not empty", step, h.table.used, h.table.dead, marked)
		}
		if h.table.used != len(lasts) || scope.states.Load() != int64(len(lasts)) {
			t.Fatalf("step %d: %d used of %d, %d of the scope", step, h.table.used, len(lasts), scope.states.Load())
		}
	}
}

// isNext checks that no state expires before the shard's bound, and that the shard finds the state that expires next.
func isNext(t *testing.T, s *Store, lasts map[string]int64, now algo.Instant) {
	t.Helper()
	h := &s.shards[0]
	first := int64(never)
	for _, ends := range lasts {
		first = min(first, ends)
	}
	if said := h.soonest.Load(); said > first {
		t.Fatalf("the shard says that no state expires before %d, but one does at %d", said, first)
	}
	if first <= now.Now {
		return
	}
	if place, at, dropped := h.next(&s.scopes, now, now.Now); at != first || dropped > 0 || (place == nowhere) != (len(lasts) == 0) {
		t.Fatalf("next expires %d at %d, want at %d; %d were dropped", place, at, first, dropped)
	}
}

// A table always has enough free slots to be fast, and takes at most 44 bytes per key.
func TestTableSizeIsBounded(t *testing.T) {
	if size := unsafe.Sizeof(slot{}); size != 32 {
		t.Errorf("a slot has %d bytes, want 32", size)
	}
	if size := unsafe.Sizeof(shard{}); size%64 != 0 {
		t.Errorf("a shard has %d bytes, and shares a cache line with the next", size)
	}
	for keys := 200; keys < 5000; keys++ {
		slots := sized(keys)
		if size := float64(33*slots) / float64(keys); size > 44 || slots*fullTenths < 10*(keys+keys/10) {
			t.Fatalf("%d slots for %d keys: %.1f bytes a key", slots, keys, size)
		}
	}
}

// A scope is dropped when no state refers to it, and not before. An operation on a dropped scope gets a new scope.
func TestUnusedScopesAreDropped(t *testing.T) {
	var cs scopes
	var all room
	all.start(100, nil)
	cs.start(&all, &secret{})
	limit := func(n int64) engine.Limit {
		return engine.Build(algo.FixedWindow, []engine.Rate{engine.Per(n, time.Second)})
	}
	held, unused := cs.enter(cs.of("s", limit(1))), cs.of("s", limit(2))
	if held.name != unused.name || held.id == unused.id {
		t.Errorf("two limits of one name: %d and %d, scopes %d and %d", held.name, unused.name, held.id, unused.id)
	}
	if other := cs.of("t", limit(1)); other.name == held.name {
		t.Error("another space has the same name number")
	}
	for n := range int64(10 * fewScopes) {
		cs.of("s", limit(3+n))
	}
	if len(cs.known) > fewScopes || cs.ids > fewScopes {
		t.Errorf("%d scopes are known, %d were, and one is in use", len(cs.known), cs.ids)
	}
	if again := cs.of("s", limit(1)); again != held {
		t.Error("the scope in use was dropped")
	}
	for n := range int64(5000) { // more than one page
		if c := cs.enter(cs.of("many", limit(1+n))); cs.get(c.id) != c {
			t.Fatalf("scope %d has another's number", c.id)
		}
	}
	if cs.get(held.id) != held {
		t.Error("the scope in use has lost its number")
	}
	if again := cs.enter(unused); again == unused || again.limit != unused.limit || again.name != held.name {
		t.Errorf("a dropped scope was entered: %+v", again)
	}
}

// TestSoonestShard checks that soonestShard returns the shard with the lowest bound.
func TestSoonestShard(t *testing.T) {
	for _, c := range []struct {
		bounds []int64
		index  int
	}{
		{[]int64{never, never}, -1},
		{[]int64{never, 4}, 1},
		{[]int64{5, 9, 3, 7}, 2},
		{[]int64{3, 5, 9, 7}, 0},
		{[]int64{9, 7, 5, 3}, 3},
	} {
		s := &Store{shards: make([]shard, len(c.bounds))}
		for i, bound := range c.bounds {
			s.shards[i].soonest.Store(bound)
		}
		got := s.soonestShard()
		if c.index < 0 && got != nil || c.index >= 0 && got != &s.shards[c.index] {
			t.Errorf("%v: want shard %d", c.bounds, c.index)
		}
	}
}

// A state that expires at the current instant makes room, and one that expires later does not.
func TestStateExpiringNowMakesRoom(t *testing.T) {
	s, err := New(Config{MaxKeys: 1})
	if err != nil {
		t.Fatal(err)
	}
	scope := s.scopes.of("s", parse(t, "fixed-window 1/s"))
	if !scope.share.reserve() || scope.share.reserve() {
		t.Fatal("there is room for one key")
	}
	s.shards[0].insert(s, hash{}, scope, new(algo.StoredFixed(1, 100)), algo.Instant{}, 100)
	for _, now := range []int64{99, 100} {
		if ok := s.makeRoom(algo.Instant{Now: now, Wall: now}); ok != (now == 100) {
			t.Errorf("at %d: %v, %+v", now, ok, s.Stats())
		}
	}
}

// TestOpenReservationsAreBoundedInBytes checks that reservations of many charges with long keys take as much room as
// they have bytes, that a reserve without room is a denial, and that settled ones make room. Another policy keeps its
// part (regression: bug 110).
func TestOpenReservationsAreBoundedInBytes(t *testing.T) {
	s, err := New(Config{MaxKeys: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	limit := parse(t, "fixed-window 1000000/1h")
	s.KeepRoom("s", "other")
	result := make([]engine.Answer, 1)
	reserve := func(space string, i, charges int) *engine.Answer {
		op := engine.Op{Kind: engine.OpReserve, Space: space, Key: "k", ID: strconv.Itoa(i), Term: &engine.Term{Within: time.Hour}}
		for c := range charges {
			op.Charges = append(op.Charges, engine.Charge{Limit: limit, Cost: 1, Space: space, Key: strconv.Itoa(c) + strings.Repeat("k", engine.MaxKeyBytes-2)})
		}
		if s.Do(t.Context(), []engine.Op{op}, result); result[0].Err != nil {
			t.Fatal(result[0].Err)
		}
		return &result[0]
	}
	n := 0
	for n < 2000 && reserve("s", n, 16).Allowed {
		n++
	}
	// A reservation of 16 charges has 17 KB or more, and 75 000 keys have 19 MB.
	if o := &result[0]; !o.Full || n < 75_000*keyBytes/(20<<10) || n > 75_000*keyBytes/(16<<10) {
		t.Errorf("after %d: %+v", n, o)
	}
	if !reserve("other", 0, 1).Allowed {
		t.Error("another policy has no room")
	}
	for _, name := range s.opens.names() {
		s.opens.remove(name)
	}
	if used := s.room.used.Load(); used > 20 || !reserve("s", n, 16).Allowed {
		t.Errorf("%d keys of none, %+v", used, result[0])
	}
}

// TestOverdueReservationsAreFoundOnce checks that one pass over all open reservations finds those of several calls. Those
// that nobody has ended are found again (regression: bug 278).
func TestOverdueReservationsAreFoundOnce(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, err := New(Config{Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	limit := parse(t, "fixed-window 1000000/1h")
	const open = 2*engine.MaxDue + 500
	for i := range open {
		op := engine.Single(engine.OpReserve, "k", limit, 1)
		op.ID, op.Term = strconv.Itoa(i), &engine.Term{Within: time.Minute}
		s.Do(t.Context(), []engine.Op{op}, make([]engine.Answer, 1))
	}
	now = now.Add(time.Hour)
	for round := range 2 {
		ids := map[string]bool{}
		for _, left := range []int{open - engine.MaxDue, 500, 0} {
			due, err := s.Due(t.Context())
			if err != nil || len(s.opens.overdue) != left {
				t.Errorf("round %d: %d found and not returned, want %d; %v", round, len(s.opens.overdue), left, err)
			}
			for _, r := range due {
				ids[r.ID] = true
			}
		}
		if len(ids) != open {
			t.Errorf("round %d: %d of %d", round, len(ids), open)
		}
	}
	for _, name := range s.opens.names() {
		s.opens.remove(name)
	}
	if due, err := s.Due(t.Context()); err != nil || len(due) > 0 {
		t.Errorf("%d of none are overdue, %v", len(due), err)
	}
}

// A program may name a namespace for each of its users. Their keys are counted anew only when the parts become smaller,
// and no namespace gets less than sixteen seventeenths of its part (regression: bug 148).
func TestManyNamespacesAreDividedInSteps(t *testing.T) {
	counted, before := 0, 0
	for n := 1; n <= 1<<16; n++ {
		parts := partsFor(n)
		if parts < n || parts > n+n/16 || n <= 1024 && parts != n || parts < before {
			t.Fatalf("%d namespaces in %d parts, after %d", n, parts, before)
		}
		if parts != before && n > 1024 {
			counted += n
		}
		before = parts
	}
	if counted > 40<<16 {
		t.Errorf("%d keys are counted for %d namespaces", counted, 1<<16)
	}
}
