package memstore

import (
	"slices"
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// A settlement is recorded like a state, under its own key, until the reservation ends. The record therefore counts as
// a key, and expires like any other key.

// settledLimit is the limit of these records. Only its name matters.
var settledLimit = engine.Build(algo.FixedWindow, []engine.Rate{engine.Per(1, time.Second)}, engine.Setting{Field: "name", Word: "settled"})

// settledSpace separates these keys from the keys of callers. No other namespace has this suffix.
const settledSpace = "\x00settled"

// reservationName names the reservation of an operation within its namespace. The length prefix ensures that
// different pairs of key and id have different names.
func reservationName(op *engine.Op) string {
	return strconv.Itoa(len(op.Key)) + ":" + op.Key + op.ID
}

// locateSettled locates the record that shows whether the operation's reservation was settled.
func (t *transaction) locateSettled() {
	op := t.op
	hash := t.store.secret.hash(reservationName(op))
	t.settled = location{key: hash, shard: t.store.shard(hash), slot: nowhere, scope: t.store.scopes.of(op.Space+settledSpace, settledLimit)}
	if !slices.Contains(t.locked, t.settled.shard) {
		t.locked = append(t.locked, t.settled.shard)
	}
}

// loadSettled looks up the settlement. It returns 1 if it must be stored.
func (t *transaction) loadSettled() (absent int64) {
	p := &t.settled
	if p.scope == nil {
		return 0
	}
	t.find(p)
	if p.slot == nowhere && t.now.Now < t.op.Reservation.Ends {
		return 1
	}
	return 0
}

// settle settles the operation's reservation and sets r.Found. If the reservation has ended or was settled before,
// r.Found is false and nothing is charged or given back.
func (t *transaction) settle(r *engine.Answer) {
	if t.op.Reservation.Term != nil {
		r.Found = t.findOpen()
	} else {
		r.Found = t.settled.slot == nowhere && t.now.Now < t.op.Reservation.Ends
	}
	dropped := algo.Settle(t.steps, t.now, r.Found, t.op.Stage == engine.Report)
	r.Fill(t.op, t.steps, true, 0, t.now.Now)
	r.Dropped = dropped
}

// storeSettled records that the reservation was settled.
func (t *transaction) storeSettled(r *engine.Answer) {
	if !r.Found {
		return
	}
	if t.op.Reservation.Term != nil {
		t.settledOpen()
		return
	}
	p, state := &t.settled, algo.StoredFixed(1, t.op.Reservation.Ends)
	t.store.shards[p.shard].insert(t.store, p.key, p.scope, &state, t.now, t.op.Reservation.Ends)
	p.reserved = false
}
