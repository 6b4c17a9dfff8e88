package lease

import (
	"strings"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/internal/keyed"
)

// id is a key under a limit.
type id struct {
	space, key string
	limit      headgate.Limit
}

// table is what is known of keys.
type table struct{ *keyed.Table[id, *record] }

type shard = keyed.Shard[id, *record]

// record is one key: how hot it is, and what is held of it. The shard's lock
// guards it.
type record struct {
	shard    *shard
	id       id
	asked    int
	since    time.Time // since when that many
	hold     hold
	underWay chan struct{} // closed when what is being taken has come
	reset    bool          // meanwhile, so that it does not count
}

// found is what a caller is to do: go with what was spent, wait, or, where the
// record is his, take some and finish it; else ask.
type found struct {
	spent    bool
	decision headgate.Decision
	underWay <-chan struct{}
	ours     *record
}

// look finds what is known of an operation's key, and counts it.
func (t table) look(op *headgate.Op, life time.Duration, hotAfter int) (f found) {
	space, key := op.Subject(0)
	name := id{space: space, key: key, limit: op.Charges[0].Limit}
	h := t.Of(key)
	now := time.Now()
	h.Lock()
	defer h.Unlock()
	r := h.Known[name]
	if r == nil {
		if r = add(h, name, now, life); r == nil {
			return found{}
		}
	}
	if f.decision, f.spent = r.hold.spend(op.Charges[0].Cost, now); f.spent {
		return f
	}
	if op.Charges[0].Cost > 1 {
		return found{} // only who asks for one unit takes others with it
	}
	if r.underWay != nil {
		return found{underWay: r.underWay}
	}
	if r.hold.units > 0 {
		return found{} // dead or too few, and not returned yet: one lease a key
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

// finish lets go of a record that was taken for.
func (r *record) finish(held hold) {
	r.shard.Lock()
	defer r.shard.Unlock()
	if r.hold = held; r.reset {
		r.hold = hold{}
	}
	if r.hold.units == 0 {
		// There is none to spare: others ask as well, and not one by one.
		r.asked, r.since = 0, time.Now()
	}
	close(r.underWay)
	r.underWay, r.reset = nil, false
}

// add makes a record, in the place of some that are cold if there are many.
func add(h *shard, name id, now time.Time, life time.Duration) *record {
	if !h.HasRoom(func(r *record) bool { return r.hold.units == 0 && r.underWay == nil && now.Sub(r.since) >= life }) {
		return nil
	}
	name.space, name.key = strings.Clone(name.space), strings.Clone(name.key)
	r := &record{shard: h, id: name, since: now}
	h.Known[name] = r
	return r
}

// forget drops what is held of the keys that an operation resets.
func (t table) forget(op *headgate.Op) {
	for i := range op.Charges {
		space, key := op.Subject(i)
		h := t.Of(key)
		h.Lock()
		for name, r := range h.Known {
			same := name.limit.Algorithm() == op.Charges[i].Limit.Algorithm() && name.limit.Name() == op.Charges[i].Limit.Name()
			if same && name.key == key && name.space == space {
				r.hold.units, r.reset = 0, r.underWay != nil
			}
		}
		h.Unlock()
	}
}
