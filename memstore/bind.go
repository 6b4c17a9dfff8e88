package memstore

import (
	"context"
	"sync/atomic"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// bound is a limit in a namespace, with its scope looked up in advance. A request only provides a key and a cost.
type bound struct {
	store   *Store
	space   string
	limit   engine.Limit
	numbers *algo.Limit
	divides bool
	scope   atomic.Pointer[scope] // replaced if the store has dropped the scope
}

var _ engine.Binder = (*Store)(nil)

// Bind returns a bound for a token bucket without debt, a fair share, or a fixed window that starts with its first
// request and does not count denied requests. It returns nil for any other limit, and if the store has a custom clock.
// See [engine.Binder].
func (s *Store) Bind(space string, limit engine.Limit) engine.Bound {
	numbers := limit.Numbers()
	if limit.Err() != nil || s.clock.custom != nil || !numbers.HasFastPath() || numbers.Algorithm.Paces() { // [engine.Simple] has no delay
		return nil
	}
	return &bound{store: s, space: space, limit: limit, numbers: numbers, divides: limit.Algorithm().Divides()}
}

// Allow decides a request if the key has a state or, except for a fair share, if the key's first state can be stored
// without dropping or moving keys. See [engine.Bound].
func (b *bound) Allow(ctx context.Context, key string, cost int64) (a engine.Simple) {
	s := b.store
	if s.closed.Load() || uint(len(key)-1) >= engine.MaxKeyBytes || ctx.Err() != nil {
		return a
	}
	c := b.scope.Load()
	if c == nil {
		c = s.scopes.of(b.space, b.limit)
		b.scope.Store(c)
	}
	var o algo.Outcome
	hash, keyHash := s.secret.hash(key), uint64(0)
	if b.divides {
		hash, keyHash = s.pooled(c, b.numbers, key, hash)
	} else {
		hash.hi ^= c.salt
	}
	h := &s.shards[s.shard(hash)]
	s.prefetch(h, hash) // the lines are fetched while the clock is read
	a.AtMicros = s.clock.micros()
	var v verdict
	if b.divides { // as Store.allow, without its call
		v = s.takeDivided(h, c, b.numbers, hash, keyHash, cost, &o, &a.AtMicros)
	} else {
		v = s.take(h, c, b.numbers, hash, cost, &o, &a.AtMicros)
	}
	switch v {
	case verdictDenied:
	case verdictAllowed:
		a.Allowed = true
	default:
		if c.stale.Load() {
			b.scope.Store(nil)
		}
		return a
	}
	a.Decided = true
	a.Remaining, a.RetryAfter, a.ResetAfter = o.Remaining, o.Wait, o.Reset
	return a
}
