package memstore

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// class is what many states have in common: the space and the limit they were
// written under. A state refers to it by a number of 32 bits.
type class struct {
	space string
	limit engine.Limit
	id    uint32
	// called is the number of the class's states' name: space, algorithm, name and
	// grid of the limit. Classes of one name differ in the limit's other numbers.
	called uint32
	// stale is set once the class is dropped.
	stale atomic.Bool

	_ [64]byte // what is above is read by every decision
	// states is how many refer to the class; gone if it was dropped.
	states atomic.Int64
}

// gone is the count of a class that nobody may refer to any more.
const gone = math.MinInt64 / 2

// enter counts one more state of a class, and returns it: another one, if it was
// dropped meanwhile.
func (cs *classes) enter(c *class) *class {
	for c.states.Add(1) < 0 {
		c.states.Add(-1)
		c = cs.of(c.space, c.limit)
	}
	return c
}

// name is what a state is called, but for its key.
type name struct {
	space, limit string
	algorithm    algo.Algorithm
	grid         algo.Grid
}

// registered is what makes a class.
type registered struct {
	space string
	limit engine.Limit
}

// nearby is how many classes are found without a lock.
const nearby = 1024

// classes are those of a store. There are at most twice as many as are in use,
// and fewClasses.
type classes struct {
	near  [nearby]atomic.Pointer[class]
	pages atomic.Pointer[[]*page] // by number; the list is replaced, not written to

	mu    sync.Mutex
	known map[registered]*class
	names map[name]*naming
	free  []uint32 // numbers of classes that were dropped
	ids   uint32   // how many numbers were given to classes
	next  uint32   // the number of a name that is new
	limit int      // how many there may be before the unused are dropped
}

// page is the classes of some numbers.
type page [1024]atomic.Pointer[class]

// naming is a name's number, and how many classes have it.
type naming struct {
	id      uint32
	classes int
}

const fewClasses = 256

func (cs *classes) start() {
	cs.known, cs.names, cs.limit = map[registered]*class{}, map[name]*naming{}, fewClasses
	cs.pages.Store(new([]*page))
}

// of returns the class of a limit in a space.
func (cs *classes) of(space string, limit engine.Limit) *class {
	place := &cs.near[index(space, limit.Numbers())]
	if c := place.Load(); c != nil && c.limit == limit && c.space == space && !c.stale.Load() {
		return c
	}
	c := cs.register(registered{space, limit})
	place.Store(c)
	return c
}

// index spreads limits over the classes nearby.
func index(space string, l *algo.Limit) uint64 {
	h := uint64(l.Count)*0x9e3779b97f4a7c15 ^ uint64(l.Period)*0xbf58476d1ce4e5b9 ^ uint64(l.Burst)*0x94d049bb133111eb
	h += uint64(l.Algorithm) + uint64(len(space))<<8
	return (h ^ h>>29) * 0x9e3779b97f4a7c15 >> 54
}

// get returns a class that a state refers to.
func (cs *classes) get(id uint32) *class {
	return (*cs.pages.Load())[id/uint32(len(page{}))][id%uint32(len(page{}))].Load()
}

// set gives a number to a class.
func (cs *classes) set(c *class) {
	pages := *cs.pages.Load()
	at, size := int(c.id), len(page{})
	if at/size == len(pages) {
		pages = append(slices.Clip(pages), new(page))
		cs.pages.Store(&pages)
	}
	pages[at/size][at%size].Store(c)
}

func (cs *classes) register(r registered) *class {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c := cs.known[r]; c != nil {
		return c
	}
	if len(cs.known) >= cs.limit {
		cs.collect()
		cs.limit = max(fewClasses, 2*len(cs.known))
	}
	r.space = strings.Clone(r.space)
	c := &class{space: r.space, limit: r.limit, called: cs.naming(r).id}
	if n := len(cs.free); n > 0 {
		c.id, cs.free = cs.free[n-1], cs.free[:n-1]
	} else {
		c.id = cs.ids
		cs.ids++
	}
	cs.set(c)
	cs.known[r] = c
	return c
}

func (r registered) name() name {
	return name{space: r.space, limit: r.limit.Name(), algorithm: r.limit.Algorithm(), grid: r.limit.Numbers().Grid()}
}

// naming returns the number of a class's name, for one more class.
func (cs *classes) naming(r registered) *naming {
	n := cs.names[r.name()]
	if n == nil {
		n = &naming{id: cs.next}
		cs.next++
		cs.names[r.name()] = n
	}
	n.classes++
	return n
}

// collect drops the classes that no state refers to.
func (cs *classes) collect() {
	for r, c := range cs.known {
		if !c.states.CompareAndSwap(0, gone) {
			continue
		}
		c.stale.Store(true)
		delete(cs.known, r)
		cs.free = append(cs.free, c.id)
		if n := cs.names[r.name()]; n.classes > 1 {
			n.classes--
		} else {
			delete(cs.names, r.name())
		}
	}
}
