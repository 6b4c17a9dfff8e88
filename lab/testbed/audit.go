package testbed

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/redistest"
)

// padding is added to the lifetimes of keys in the tests' scripts. Without it, keys could expire in real time before
// they do in virtual time.
const padding = time.Hour

// audited is a store whose keys are checked after every call.
type audited struct {
	engine.Store

	t       *testing.T
	prefix  string
	holders []*redistest.Server
	// busy detects parallel calls. Their keys are not checked, because it is unknown which call has written a key.
	busy chan struct{}
	// lives has the lifetimes that checked calls have given to keys. Only the checked call uses it.
	lives map[string]life
}

// life is the instant when a key expires, by the server's clock in ms, and by the clock of the call that has set it.
type life struct{ real, virtual int64 }

// Unwrap returns the wrapped store.
func (a *audited) Unwrap() engine.Store { return a.Store }

// Audit wraps a store. After every call, it checks that each key has a sufficiently long TTL (rule 9), and that
// operations that only read have written nothing (rule 6).
func Audit(t *testing.T, store engine.Store, prefix string, holders []*redistest.Server) engine.Store {
	t.Helper()
	return &audited{Store: store, t: t, prefix: prefix, holders: holders, busy: make(chan struct{}, 1), lives: map[string]life{}}
}

// seen is a key's serialized value, its TTL in ms at the time of a check, and when it expires by the server's clock.
// patched is set if its value was last written in place: Redis stores a short string otherwise when it is set as a whole.
type seen struct {
	dump         string
	ttl, expires int64
	patched      bool
}

// keeps reports whether a key was written in place, and expires when it did before.
func (s *seen) keeps(before int64) bool {
	const passes = 20 // ms between the times of a check
	return s.patched && max(s.expires-before, before-s.expires) <= passes
}

func (a *audited) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	select {
	case a.busy <- struct{}{}:
		defer func() { <-a.busy }()
	default:
		a.Store.Do(ctx, ops, results)
		return
	}
	if len(ops) != 1 {
		a.Store.Do(ctx, ops, results)
		return
	}
	before := a.look()
	a.Store.Do(ctx, ops, results)
	counts := a.counts(ctx, ops[0], &results[0])
	after := a.look()
	for key, now := range after {
		was, existed := before[key]
		wrote := !existed || was.dump != now.dump
		switch {
		case now.ttl < 0:
			a.t.Errorf("after %s the key %q has no TTL", ops[0].Kind, key)
		case wrote && readsOnly(&ops[0]):
			a.t.Errorf("%s of %d wrote %q", ops[0].Kind, ops[0].Charges[0].Cost, key)
		case wrote && results[0].Err == nil:
			a.checkTTL(key, &now, results[0].AtMicros/1000, counts)
		}
	}
	if ops[0].Kind >= engine.OpAcquire {
		a.checkLeases(after)
	}
	for key := range before {
		if _, still := after[key]; !still && readsOnly(&ops[0]) {
			a.t.Errorf("%s of %d deleted %q", ops[0].Kind, ops[0].Charges[0].Cost, key)
		}
	}
}

func readsOnly(op *engine.Op) bool {
	units := int64(0)
	for i := range op.Charges {
		if op.Charges[i].Report != nil {
			return false
		}
		units += op.Charges[i].Cost
	}
	return op.Kind == engine.OpPeek || op.Kind == engine.OpExpiry || op.Kind == engine.OpAllow && units == 0
}

// counts returns how long the state that a call leaves can count, under the call's own version of the limit or any
// other. It is the longer of the time in the call's answer and the store's expiry for the key. It is computed before
// the keys are checked. If a parallel call charges units in between, keys only live longer.
func (a *audited) counts(ctx context.Context, op engine.Op, result *engine.Answer) time.Duration {
	if len(op.Charges) > 1 || op.Kind > engine.OpGive || readsOnly(&op) {
		return 0
	}
	var expiry [1]engine.Answer
	op.Kind = engine.OpExpiry
	a.Store.Do(ctx, []engine.Op{op}, expiry[:])
	return max(result.Binds().ResetAfter, expiry[0].TTL)
}

// checkTTL compares the lifetime of a key that a call has written at an instant with the time that its state counts. A
// state that is written in place keeps its key's lifetime, also by the clock of the calls: if that is set back, the key
// expires later.
func (a *audited) checkTTL(key string, now *seen, at int64, counts time.Duration) {
	expires := life{now.expires, at + now.ttl - padding.Milliseconds()}
	if before := a.lives[key]; now.keeps(before.real) {
		expires.virtual = max(expires.virtual, before.virtual)
	}
	a.lives[key] = expires
	least := int64((counts + time.Millisecond - 1) / time.Millisecond)
	const slack = 5_000 // ms between the write and the check
	if counts > 0 && expires.virtual < at+least-slack {
		a.t.Errorf("%q was written, expires in %d ms and counts for %d ms", key, expires.virtual-at, least)
	}
}

// checkLeases checks that a holder is either in both states of a concurrency limit or in neither. The second state also
// contains the sum of all units and, if the limit divides them, each key's units.
func (a *audited) checkLeases(keys map[string]seen) {
	for key := range keys {
		units, ok := strings.CutPrefix(key, a.prefix)
		if !ok || !strings.Contains(units, "concurrency/") {
			continue
		}
		other := a.prefix + strings.Replace(units, "concurrency/", "concurrency-units/", 1)
		for _, s := range a.holders {
			holders, err := s.Do("zrange", key, 0, -1)
			fields, err2 := s.Do("hgetall", other)
			if err != nil || err2 != nil || len(fields.([]any)) == 0 {
				continue
			}
			want := unitsOf(holders.([]any), fields.([]any), strings.Contains(units, "fair-concurrency/"))
			if got := textsOf(fields.([]any)); !maps.Equal(got, want) {
				a.t.Errorf("%q has %q, want %q", other, got, want)
			}
		}
	}
}

// unitsOf returns the expected second state: the holders' actual units, and the sum for each key.
func unitsOf(holders, fields []any, divided bool) map[string]string {
	has, want, sums := textsOf(fields), map[string]string{}, map[string]int{}
	want[""] = has[""]
	for _, one := range holders {
		id, _ := one.(string)
		want[id] = has[id]
		if units, _, found := strings.Cut(has[id], " "); divided && found {
			n, _ := strconv.Atoi(units)
			sums[id[:8]] += n
		}
	}
	for key, n := range sums {
		want[key] = strconv.Itoa(n)
	}
	return want
}

// textsOf returns a hash's fields and their values.
func textsOf(fields []any) map[string]string {
	texts := map[string]string{}
	for i := 0; i < len(fields); i += 2 {
		name, _ := fields[i].(string)
		texts[name], _ = fields[i+1].(string)
	}
	return texts
}

// lookScript returns the name, the TTL and the value of every key in one call.
const lookScript = `local out, time = {}, redis.call('time')
for _, key in ipairs(redis.call('keys', ARGV[1])) do
  local ttl = redis.call('pttl', key)
  if ttl ~= -2 then
    local patched = 0
    if redis.call('object', 'encoding', key) == 'raw' and redis.call('strlen', key) <= 44 then patched = 1 end
    out[#out + 1] = { key, ttl, redis.sha1hex(redis.call('dump', key)), time[1] * 1000 + math.floor(time[2] / 1000) + ttl, patched }
  end -- of a key that has just expired
end
return out`

// look returns all keys with the prefix on all nodes.
func (a *audited) look() map[string]seen {
	a.t.Helper()
	found := map[string]seen{}
	for _, s := range a.holders {
		keys, ok := s.MustDo("eval", lookScript, 0, a.prefix+"/*").([]any)
		if !ok {
			continue
		}
		for _, entry := range keys {
			key, ok := entry.([]any)
			if !ok || len(key) != 5 {
				a.t.Fatalf("the server lists %v", entry)
			}
			if strings.HasPrefix(fmt.Sprint(key[0]), a.prefix+"/probe/") {
				continue // of the check at the start, which may expire during any operation
			}
			ttl, _ := key[1].(int64)
			expires, _ := key[3].(int64)
			found[fmt.Sprint(key[0])] = seen{dump: fmt.Sprint(key[2]), ttl: ttl, expires: expires, patched: key[4] == int64(1)}
		}
	}
	return found
}

// Close checks that nothing was written outside the tests' prefixes.
func (a *audited) Close() error {
	for _, s := range a.holders {
		keys, ok := s.MustDo("keys", "*").([]any)
		for _, key := range keys {
			if ok && !strings.HasPrefix(fmt.Sprint(key), "t-") {
				a.t.Errorf("a key outside the prefix: %q", key)
			}
		}
	}
	return a.Store.Close()
}
