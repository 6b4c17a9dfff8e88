package prefetch

import (
	"iter"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/layer/internal/keymap"
)

// id is a key under a counter. All versions of a limit on a key share one counter, and so
// one set of prefetched units.
type id struct {
	space, key string
	counter    int32
}

// counter is the name of a limit's counter, without its space and key.
type counter struct {
	name      string
	algorithm algo.Algorithm
	grid      algo.Grid
}

func counterOf(limit engine.Limit) counter {
	return counter{name: limit.Name(), algorithm: limit.Algorithm(), grid: limit.Numbers().Grid()}
}

// table has the known keys. The limits that may be prefetched are numbered by counter, so
// that a key is found fast.
type table struct {
	*keymap.Map[id, *record]
	ofLimit   map[engine.Limit]int32
	ofCounter map[counter]int32
}

func newTable(most int, limits iter.Seq[engine.Limit]) table {
	t := table{keymap.New[id, *record](most), map[engine.Limit]int32{}, map[counter]int32{}}
	for limit := range limits {
		c := counterOf(limit)
		if _, known := t.ofCounter[c]; !known {
			t.ofCounter[c] = int32(len(t.ofCounter))
		}
		t.ofLimit[limit] = t.ofCounter[c]
	}
	return t
}

type shard = keymap.Shard[id, *record]

// record is one key: how hot it is, and the units held of it. The shard's lock guards it.
type record struct {
	shard    *shard
	limit    engine.Limit // the version whose requests are counted and whose units are held
	asked    int
	since    time.Time // asked counts from then on
	hold     hold
	underWay chan struct{} // closed when the units being taken have arrived
	reset    bool          // while units were under way: they do not count
	// returning is set while units are on their way back.
	returning bool
}

// found says what a caller does: use the spent units, wait, take units ahead and finish
// the record if ours is set, or otherwise forward its operation. Units that another
// version of the limit holds go back first.
type found struct {
	gives    []giving
	spent    bool
	underWay <-chan struct{}
	ours     *record
}

// look finds the record of an operation's key, and counts the request. If it spends held
// units, it writes the answer into the outcome.
func (t table) look(op *engine.Op, o *engine.Outcome, life time.Duration, hotAfter int) (f found) {
	space, key := op.Subject(0)
	limit := op.Charges[0].Limit
	name := id{space: space, key: key, counter: t.ofLimit[limit]}
	h := t.Of(key)
	now := time.Now()
	h.Lock()
	defer h.Unlock()
	r := h.Known[name]
	if r == nil {
		if r = add(h, name, limit, now, life); r == nil {
			return found{}
		}
	}
	if r.limit != limit {
		return r.change(name, limit, now)
	}
	if f.spent = r.hold.spend(op.Charges[0].Cost, now, o); f.spent {
		return f
	}
	if op.Charges[0].Cost > 1 {
		return found{} // only a request for one unit takes others ahead
	}
	if r.underWay != nil {
		return found{underWay: r.underWay}
	}
	if r.hold.units > 0 || r.returning {
		return found{} // dead or too few, and not returned yet: one set of units per key
	}
	if now.Sub(r.since) >= life {
		r.asked, r.since = 0, now
	}
	if r.asked++; r.asked > hotAfter {
		r.underWay = make(chan struct{})
		return found{ours: r}
	}
	return found{}
}

// change continues with another version of the limit, as a cold key: units held under the
// version before go back first.
func (r *record) change(name id, limit engine.Limit, now time.Time) (f found) {
	if r.underWay != nil || r.returning {
		return found{} // until then every request goes to the store
	}
	if r.hold.units > 0 {
		f.gives = []giving{r.giveBack(name)}
	}
	r.limit, r.asked, r.since = limit, 0, now
	return f
}

// giveBack removes the held units, to give them back by handle.
func (r *record) giveBack(name id) giving {
	op := engine.Single(engine.OpGive, name.key, r.limit, r.hold.units)
	op.Space, op.Taken = name.space, r.hold.taken
	r.hold.units, r.returning = 0, true
	return giving{op: op, record: r}
}

// returned records that the units have gone back, or are lost.
func (r *record) returned() {
	r.shard.Lock()
	defer r.shard.Unlock()
	r.returning = false
}

// finish ends the taking of units for a record.
func (r *record) finish(held hold) {
	r.shard.Lock()
	defer r.shard.Unlock()
	if r.hold = held; r.reset {
		r.hold = hold{}
	}
	if r.hold.units == 0 {
		// No units were to spare: other requests go to the store too, and not one by one.
		r.asked, r.since = 0, time.Now()
	}
	close(r.underWay)
	r.underWay, r.reset = nil, false
}

// add makes a record. If there are too many, it first drops some cold ones.
func add(h *shard, name id, limit engine.Limit, now time.Time, life time.Duration) *record {
	if !h.HasRoom(func(r *record) bool {
		return r.hold.units == 0 && r.underWay == nil && !r.returning && now.Sub(r.since) >= life
	}) {
		return nil
	}
	name.space, name.key = strings.Clone(name.space), strings.Clone(name.key)
	r := &record{shard: h, limit: limit, since: now}
	h.Known[name] = r
	return r
}

// forget drops the units held of the keys that an operation resets.
func (t table) forget(op *engine.Op) {
	for i := range op.Charges {
		number, leased := t.ofCounter[counterOf(op.Charges[i].Limit)]
		if !leased {
			continue
		}
		space, key := op.Subject(i)
		h := t.Of(key)
		h.Lock()
		if r := h.Known[id{space: space, key: key, counter: number}]; r != nil {
			r.hold.units, r.reset = 0, r.underWay != nil
		}
		h.Unlock()
	}
}
