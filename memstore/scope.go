package memstore

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/engine"
)

// scope contains the namespace and the limit with which many states were written. A state refers to its scope by a
// 32-bit number.
type scope struct {
	space string
	limit engine.Limit
	id    uint32
	// name is the number of the counter name, which consists of the space and the limit's algorithm, name and grid.
	// States whose scopes have the same name share counters. Such scopes differ only in other parameters of the limit.
	name uint32
	// share counts the keys of the namespace.
	share *share
	// pool is the hash of the common counter's key if the limit divides its units among keys.
	pool hash
	// salt separates the places of one key under many names: without it, a key under 20 000 policies had 20 000 places
	// in a row. A snapshot keeps the places, so the salt depends only on texts that later builds have too, and on the
	// store's secret.
	salt uint64
	// stale is set when the scope is dropped.
	stale atomic.Bool

	_ [64]byte // every decision reads the fields above
	// states is the number of states that refer to the scope, or gone if it was dropped.
	states atomic.Int64
}

// gone is the count of a dropped scope, so that no state can refer to it any more.
const gone = math.MinInt64 / 2

// enter counts one more state of a scope and returns the scope, or a new one if it was dropped in the meantime.
func (cs *scopes) enter(c *scope) *scope {
	for c.states.Add(1) < 0 {
		c.states.Add(-1)
		c = cs.of(c.space, c.limit)
	}
	return c
}

// name is a counter's name, except for the key.
type name struct {
	space   string
	counter engine.Counter
}

type scopeKey struct {
	space string
	limit engine.Limit
}

// cachedScopes is the number of scopes that can be found without a lock.
const cachedScopes = 1024

// scopes contains all scopes of a store. Their number is at most twice the number that were in use when unused ones were
// last dropped, or fewScopes if that is more.
type scopes struct {
	cached [cachedScopes]atomic.Pointer[scope]
	pages  atomic.Pointer[[]*page] // by number; the list is replaced, never changed

	mu    sync.Mutex
	known map[scopeKey]*scope
	names map[name]*naming
	free  []uint32 // numbers of dropped scopes
	ids   uint32   // count of numbers given to scopes
	next  uint32   // the next number for a new name
	limit int      // number of scopes that triggers dropping of unused ones

	room   *room   // of the store
	secret *secret // of the store
}

// page contains the scopes with 1024 consecutive numbers.
type page [1024]atomic.Pointer[scope]

// naming is the entry of a counter name: its number, and the number of scopes with that name.
type naming struct {
	id     uint32
	scopes int
}

const fewScopes = 256

func (cs *scopes) start(r *room, secret *secret) {
	cs.room, cs.secret = r, secret
	cs.known, cs.names, cs.limit = map[scopeKey]*scope{}, map[name]*naming{}, fewScopes
	cs.pages.Store(new([]*page))
}

// set stores a scope under its number.
func (cs *scopes) set(c *scope) {
	pages := *cs.pages.Load()
	at, size := int(c.id), len(page{})
	if at/size == len(pages) {
		pages = append(slices.Clip(pages), new(page))
		cs.pages.Store(&pages)
	}
	pages[at/size][at%size].Store(c)
}

func (cs *scopes) register(r scopeKey) *scope {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c := cs.known[r]; c != nil {
		return c
	}
	if len(cs.known) >= cs.limit {
		cs.collect()
		cs.limit = max(fewScopes, 2*len(cs.known))
	}
	r.space = strings.Clone(r.space)
	c := &scope{space: r.space, limit: r.limit, name: cs.naming(r).id, share: cs.room.of(owner(r.space))}
	if r.limit.Algorithm().Divides() {
		c.pool = cs.secret.hash(r.limit.Counts(r.space, ""))
	} else {
		c.salt = cs.secret.hash(r.space + "\x00" + r.limit.Name()).hi
	}
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

// owner returns the namespace that a namespace of records belongs to: of settled reservations, or of returns.
func owner(space string) string {
	space, _, _ = strings.Cut(space, "\x00")
	return space
}

func (r scopeKey) name() name {
	return name{space: r.space, counter: r.limit.Counter()}
}

// naming returns the entry for a scope's name, and counts one more scope with that name.
func (cs *scopes) naming(r scopeKey) *naming {
	n := cs.names[r.name()]
	if n == nil {
		n = &naming{id: cs.next}
		cs.next++
		cs.names[r.name()] = n
	}
	n.scopes++
	return n
}

// collect drops the scopes without states.
func (cs *scopes) collect() {
	for r, c := range cs.known {
		if !c.states.CompareAndSwap(0, gone) {
			continue
		}
		c.stale.Store(true)
		delete(cs.known, r)
		cs.free = append(cs.free, c.id)
		if n := cs.names[r.name()]; n.scopes > 1 {
			n.scopes--
		} else {
			delete(cs.names, r.name())
		}
	}
}
