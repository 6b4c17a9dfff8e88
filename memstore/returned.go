package memstore

import (
	"fmt"
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// The record of a bucket's returns is stored like a state, under its own key, until it has no effect. The record
// therefore counts as a key, and expires like any other key.

// returnedLimit is the limit of these records. Only its algorithm and its name matter.
var returnedLimit = engine.Build(algo.Concurrency, []engine.Rate{engine.Per(1, time.Second)}, engine.Setting{Field: "name", Word: "returned"})

// returnedSpace separates these keys from the keys of callers. No other namespace has this suffix.
const returnedSpace = "\x00returned"

// locateReturned locates the record of each limit of a settlement.
func (t *transaction) locateReturned() {
	for i := range t.op.Charges {
		p := location{slot: nowhere}
		if limit := t.op.Charges[i].Limit; limit.Algorithm().KeepsReturns() {
			space, key := t.op.Counted(i)
			of := limit.Counter()
			p.key = t.store.secret.hash(fmt.Sprint(len(key), ":", key, of.Algorithm, ":", of.Name, ":", of.Grid.Count, ":", of.Grid.Period, ":", of.Grid.WarmUp))
			p.scope, p.shard = t.store.scopes.of(space+returnedSpace, returnedLimit), t.store.shard(p.key)
			if !slices.Contains(t.locked, p.shard) {
				t.locked = append(t.locked, p.shard)
			}
		}
		t.returned = append(t.returned, p)
	}
}

// loadReturned reads the records and returns the number of absent ones.
func (t *transaction) loadReturned() (absent int64) {
	for i := range t.returned {
		p := &t.returned[i]
		if t.steps[i].Returns = ""; p.scope == nil {
			continue
		}
		if t.find(p); p.slot == nowhere {
			absent++
			continue
		}
		state := t.store.shards[p.shard].load(&t.store.scopes, p.slot)
		t.steps[i].Returns = algo.ReturnsIn(&state)
	}
	return absent
}

// find looks up a record, and drops it if it has expired.
func (t *transaction) find(p *location) {
	if p.scope.stale.Load() {
		p.scope = t.store.scopes.of(p.scope.space, p.scope.limit)
	}
	h := &t.store.shards[p.shard]
	p.slot = h.find(&t.store.scopes, p.key, p.scope)
	if p.slot != nowhere && h.expires(&t.store.scopes, p.slot, t.now) <= t.now.Now {
		h.remove(&t.store.scopes, p.slot)
		h.publish()
		t.store.expired.Add(1)
		p.slot = nowhere
	}
}

// storeReturned stores the records that already exist or, if added is set, the new records.
func (t *transaction) storeReturned(added bool) {
	for i := range t.returned {
		p, r := &t.returned[i], t.steps[i].Returns
		if r == "" || (p.slot == nowhere) != added {
			continue
		}
		state, h := algo.StoredReturns(r), &t.store.shards[p.shard]
		if !added {
			h.put(&t.store.scopes, p.slot, p.scope, &state, r.Ends())
			continue
		}
		h.insert(t.store, p.key, p.scope, &state, t.now, r.Ends())
		p.reserved = false
	}
}
