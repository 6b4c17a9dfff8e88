package prefetch_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/memstore"
)

// group is a coordinator that can lose its data, like a server that fails over to an empty replica.
type group struct {
	mu  sync.Mutex
	now *memstore.Store
}

func (g *group) lose(t *testing.T) {
	t.Helper()
	memory, err := memstore.New(memstore.Config{Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = memory
}

func (g *group) store() *memstore.Store {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

// node is one process with its connection to the group, which can be cut or slow.
type node struct {
	engine.Coordinator
	group *group
	store *prefetch.Store
	asks  *headgate.Limiter

	mu          sync.Mutex
	cut         bool
	there, back time.Duration
}

func (n *node) set(cut bool, there, back time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut, n.there, n.back = cut, there, back
}

// pause waits for a while. It makes no timer of 0, because the runtime of Go 1.26.8 can crash if such a timer fires in a
// synctest bubble under the race detector (in timer.maybeRunChan).
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (n *node) Beat(ctx context.Context, name, member string, life time.Duration) ([]string, error) {
	n.mu.Lock()
	cut, there, back := n.cut, n.there, n.back
	n.mu.Unlock()
	if cut {
		return nil, headgate.ErrStoreUnavailable
	}
	pause(ctx, there)
	names, err := n.group.store().Beat(context.WithoutCancel(ctx), name, member, life)
	pause(ctx, back)
	if ctx.Err() != nil {
		return nil, ctx.Err() // the answer is late, but the beat counts
	}
	return names, err
}

func (n *node) Get(ctx context.Context, name string) (string, int64, error) {
	return n.group.store().Get(ctx, name)
}

func (n *node) CompareAndSet(ctx context.Context, name string, version int64, value string) (int64, bool, error) {
	return n.group.store().CompareAndSet(ctx, name, version, value)
}

func (n *node) Leave(ctx context.Context, name, member string) error {
	return n.group.store().Leave(ctx, name, member)
}

// world is a set of processes on one store and one group, whose connections can fail.
type world struct {
	t     *testing.T
	units *shared
	group *group
	nodes []*node
}

// memberLife is the life of units, which equals the interval between beats.
const memberLife = time.Second

func (w *world) join() *node {
	w.t.Helper()
	n := &node{group: w.group}
	store, err := prefetch.New(w.units, join(w.t, n), prefetch.Config{Limits: []engine.Limit{bucket}, Life: memberLife, MaxUnits: 1000, HotAfter: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	n.store, n.asks = store, headgate.New(headgate.WithStore(store))
	w.nodes = append(w.nodes, n)
	return n
}

func start(t *testing.T, nodes int) *world {
	t.Helper()
	w := &world{t: t, units: share(t), group: new(group)}
	w.group.lose(t)
	for range nodes {
		w.join()
	}
	return w
}

func (w *world) close() {
	for _, n := range w.nodes {
		if err := n.store.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

// holds makes all processes prefetch as many units as they may, at once. It returns the number of units that they can
// spend without the store afterwards, and the largest bound that they state.
func (w *world) holds() (units, said int64) {
	w.t.Helper()
	for _, n := range w.nodes {
		for range 3 { // the key becomes hot, and the process prefetches
			if _, err := n.asks.PolicyOf("", bucket).Allow(context.Background(), "k"); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.away(true)
	defer w.away(false)
	for _, n := range w.nodes {
		for {
			d, err := n.asks.PolicyOf("", bucket).Allow(context.Background(), "k")
			if err != nil {
				break
			}
			units++
			said = max(said, d.Promise.OvershootMax)
		}
	}
	return units, said
}

// away disconnects all processes from the store that counts their units.
func (w *world) away(down bool) {
	w.units.mu.Lock()
	defer w.units.mu.Unlock()
	w.units.down = down
}
