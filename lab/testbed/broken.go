package testbed

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/storetest"
)

// Strange checks that a store copes with lists and garbage at the keys of its states.
func Strange(t *testing.T, s *redistest.Server, store *redisstore.Store) {
	t.Helper()
	for name, limit := range limitsOfAll() {
		op := engine.Op{Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit}}}
		for _, key := range store.Keys(&op) {
			s.MustDo("lpush", key, "x")
		}
		WantClass(t, doOne(store, "k", limit), redisstore.WrongType)
		WantClass(t, expiryOf(store, op), redisstore.WrongType)
		heals(t, store, name, limit)
	}
	leases := limitsOfAll()["concurrency"]
	op := engine.Op{Space: "s", Key: "k", Charges: []engine.Charge{{Limit: leases}}}
	keys := store.Keys(&op)
	s.MustDo("hset", keys[1], "", "garbage")
	WantClass(t, doOne(store, "k", leases), redisstore.Garbage)
	s.MustDo("del", keys[1])
	s.MustDo("lpush", keys[0], "x")
	s.MustDo("hset", keys[1], "", "\x01"+strings.Repeat("\x00\x00\x00\x00\x00\x00\x00\x01", 2))
	WantClass(t, doOne(store, "k", leases), redisstore.WrongType)
	s.MustDo("del", keys[0], keys[1])
	s.MustDo("hset", keys[1], "", "\x03anything")
	WantClass(t, doOne(store, "k", leases), redisstore.Newer)
	s.MustDo("del", keys[1])
	Garbage(t, s, store)
	strangeOpen(t, s, store)
}

// strangeOpen checks that settling an open reservation whose bytes are garbage is an error, and that an id whose bytes
// are missing is dropped.
func strangeOpen(t *testing.T, s *redistest.Server, store *redisstore.Store) {
	t.Helper()
	op := engine.Op{
		Kind: engine.OpReserve, Space: "s", Key: "k", ID: "a", Term: &engine.Term{Within: time.Hour},
		Charges: []engine.Charge{{Limit: rule.SlidingLog(rule.PerHour(5)), Cost: 1}},
	}
	keys, results := store.Keys(&op), make([]engine.Answer, 1)
	ask := func(op engine.Op) engine.Answer {
		results[0] = engine.Answer{}
		store.Do(context.Background(), []engine.Op{op}, results)
		return results[0]
	}
	reserved := ask(op)
	settle := reserved.Reservation(&op, op.ID).Settle(1)
	s.MustDo("hset", keys[0], "a", "garbage")
	WantClass(t, ask(settle), redisstore.Garbage)
	s.MustDo("del", keys[0])
	s.MustDo("zadd", keys[1], "1", "a")
	if due, err := store.Due(context.Background()); err != nil || len(due) > 0 || s.Text("zcard", keys[1]) != "0" {
		t.Errorf("an id without a reservation: %v, %v, %s left", due, err, s.Text("zcard", keys[1]))
	}
	s.MustDo("lpush", keys[0], "x")
	WantClass(t, ask(settle), redisstore.WrongType)
	s.MustDo("del", keys[0])
	s.MustDo("lpush", keys[1], "x")
	WantClass(t, ask(op), redisstore.WrongType)
	s.MustDo("del", keys[1])
}

func expiryOf(store engine.Store, op engine.Op) engine.Answer {
	op.Kind = engine.OpExpiry
	results := make([]engine.Answer, 1)
	store.Do(context.Background(), []engine.Op{op}, results)
	return results[0]
}

func Garbage(t *testing.T, s *redistest.Server, store *redisstore.Store) {
	t.Helper()
	for name, limit := range limitsOfAll() {
		if name == "concurrency" {
			continue
		}
		op := engine.Op{Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit}}}
		key := store.Keys(&op)[0]
		for value, class := range map[string]redisstore.Class{
			"garbage": redisstore.Garbage, "\x01": redisstore.Garbage, "\x01" + strings.Repeat("\xff", 30): redisstore.Garbage,
			"1": redisstore.Garbage, "\x03anything": redisstore.Newer,
		} {
			s.MustDo("set", key, value)
			WantClass(t, doOne(store, "k", limit), class)
			if s.Text("get", key) != value {
				t.Errorf("%s: %q was overwritten", name, value)
			}
			heals(t, store, name, limit)
		}
	}
}

// heals checks that a reset deletes the value at a key, whatever the value is.
func heals(t *testing.T, store engine.Store, name string, limit engine.Limit) {
	t.Helper()
	results := make([]engine.Answer, 1)
	store.Do(context.Background(), []engine.Op{{Kind: engine.OpReset, Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit}}}}, results)
	if results[0].Err != nil || !results[0].Found {
		t.Errorf("%s: reset: found %t, %v", name, results[0].Found, results[0].Err)
	}
	if r := doOne(store, "k", limit); r.Err != nil || !r.Allowed {
		t.Errorf("%s after a reset: %+v, %v", name, r, r.Err)
	}
	store.Do(context.Background(), []engine.Op{{Kind: engine.OpReset, Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit}}}}, results)
}

// doOne charges or acquires one unit, depending on the limit's algorithm.
func doOne(store engine.Store, key string, limit engine.Limit) engine.Answer {
	op := engine.Op{Space: "s", Key: key, Charges: []engine.Charge{{Limit: limit, Cost: 1}}}
	if limit.Algorithm().String() == "concurrency" {
		op.Kind, op.ID = engine.OpAcquire, "holder"
	}
	results := make([]engine.Answer, 1)
	store.Do(context.Background(), []engine.Op{op}, results)
	return results[0]
}

// limitsOfAll returns one limit for each algorithm, by name.
func limitsOfAll() map[string]engine.Limit {
	all := map[string]engine.Limit{}
	for a, limit := range storetest.Examples() {
		all[a.String()] = limit
	}
	return all
}
