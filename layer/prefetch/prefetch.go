// Package prefetch takes units of hot keys from the store in advance, so that most decisions on these keys need no
// request to the store.
//
// A process with many requests for one key takes a share of the remaining units, at most 1/(2·N) of them if there are
// N processes, and spends that share locally for a short time, [Config.Life]. Near the limit the shares shrink to
// nothing, so that every decision goes to the store and is exact. Unspent units are given back at half their life and
// when the store is closed. Units of a process that dies stay spent.
//
// The price is that limits can be exceeded, by at most a bound that every decision states. Units of a window are
// spent in the window (or the segment of a sliding window) that was charged, or not at all. A log enters units when
// they die. Therefore no window exceeds its limit. Units of a token bucket can be spent up to Life after they were
// taken. All processes together hold at most min(⌈Life·rate⌉, N·⌊burst/(2·N)⌋) units of a bucket, and any span can
// exceed the limit by that many units. In total, no more units pass than the limit allows. If a key is reset or loses
// its state, the units that processes hold for this key are also freed.
//
// Only named limits are prefetched: those in [Config.Limits] in every namespace, and those in [Config.Spaces] in one
// namespace each. Every other operation goes to the store unchanged. [Store.SetSpaces] replaces [Config.Spaces] while
// the store is in use.
//
//	prefetch.go  a request → spent from held units, prefetched, or sent to the store
//	advance.go   the operation that prefetches units
//	limits.go    the limits to prefetch
//	spaces.go    changes to these limits
//	hold.go      the held units of one key
//	table.go     the known keys, bounded
//	members.go   the number of processes, and when it may be used
//	return.go    returning units
package prefetch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/membership"
)

// The defaults of [Config].
const (
	DefaultHotAfter = 8
	DefaultMaxKeys  = 1 << 16
)

// Config configures a store.
type Config struct {
	// Limits contains the limits to prefetch in every namespace: see [Prefetchable].
	Limits []engine.Limit
	// Spaces contains the limits to prefetch in single namespaces, such as those of a server's policies. If Limits is
	// empty, Spaces must not be nil. If both are empty, nothing is prefetched until [Store.SetSpaces] names limits.
	Spaces map[string][]engine.Limit
	// Life is the longest time that units are held: 10 ms to 10 s. It has no default.
	Life time.Duration
	// MaxUnits is the largest number of units held for one key: 1 to 1 million. It has no default.
	MaxUnits int64
	// HotAfter is the number of requests within a Life that make a key hot, so that its units are prefetched: 1 to 1
	// million. The default is 8.
	HotAfter int
	// MaxKeys is the largest number of keys that are watched: 64 to 2^24. Units of other keys are not prefetched. The
	// default is 65536, about 28 MiB.
	MaxKeys int
}

// Store is an [engine.Store] that wraps another. It is safe for concurrent use.
type Store struct {
	store  engine.Store
	config Config
	leased atomic.Pointer[leased]
	table  *table
	member *membership.Member
	leave  func()

	life    context.Context
	end     context.CancelFunc
	started sync.Once
	works   sync.WaitGroup
	closed  atomic.Bool

	changing sync.Mutex // held by SetSpaces and Close

	asked, taken, returned, lost atomic.Int64
}

var _ engine.Store = (*Store)(nil)

// New wraps store. Close also closes it. The member counts the processes, and beats until Close. If a value in c is out
// of range, the error is an [*engine.InputError].
func New(store engine.Store, member *membership.Member, c Config) (*Store, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &Store{store: store, config: c, table: newTable(c.MaxKeys), member: member, leave: member.Start(nil)}
	s.life, s.end = context.WithCancel(context.Background())
	limits := newLeased(c.Limits, c.Spaces)
	s.leased.Store(&limits)
	if len(limits) > 0 {
		s.start()
	}
	return s, nil
}

// start starts the goroutine that returns units, once. It is not needed until there is a limit to prefetch.
func (s *Store) start() { s.started.Do(func() { s.works.Go(s.giveBack) }) }

func (c *Config) check() error {
	if c.HotAfter == 0 {
		c.HotAfter = DefaultHotAfter
	}
	if c.MaxKeys == 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	refuse := func(field string, value any, accepted string) error {
		return &engine.InputError{Field: field, Value: fmt.Sprint(value), Accepted: accepted}
	}
	switch {
	case c.Life < 10*time.Millisecond || c.Life > 10*time.Second:
		return refuse("life", c.Life, "10ms to 10s")
	case c.MaxUnits < 1 || c.MaxUnits > 1_000_000:
		return refuse("max_units", c.MaxUnits, "1 to 1000000")
	case c.HotAfter < 1 || c.HotAfter > 1_000_000:
		return refuse("hot_after", c.HotAfter, "1 to 1000000")
	case c.MaxKeys < shards || c.MaxKeys > 1<<24:
		return refuse("max_keys", c.MaxKeys, "64 to 16777216")
	}
	if len(c.Limits) == 0 && c.Spaces == nil {
		return refuse("limits", "empty", "at least one, or spaces")
	}
	return checkLimits(c.Limits, c.Spaces)
}

func checkLimits(limits []engine.Limit, spaces map[string][]engine.Limit) error {
	for l := range newLeased(limits, spaces) {
		if !Prefetchable(l) {
			return &engine.InputError{Field: "limits", Value: l.String(), Accepted: Accepted}
		}
	}
	return nil
}

// Unwrap returns the wrapped store.
func (s *Store) Unwrap() engine.Store { return s.store }

// Stats contains a store's counters.
type Stats struct {
	// Spent is the number of held units spent locally. Asked is the number of operations sent to the wrapped store,
	// except for gives of held units.
	Spent, Asked int64
	// Taken is the number of prefetched units. Returned is the number of prefetched units that were given back. Lost
	// is the number of prefetched units that could not be given back.
	Taken, Returned, Lost int64
	// Members is the number of processes; 0 means unknown.
	Members int
}

// Stats returns the store's counters.
func (s *Store) Stats() Stats {
	n, _ := s.members(s.member.Now())
	return Stats{Spent: s.table.spent(), Asked: s.asked.Load(), Taken: s.taken.Load(), Returned: s.returned.Load(), Lost: s.lost.Load(), Members: n}
}

// Do decides the operations. See [engine.Store].
func (s *Store) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	for i := range ops {
		if ops[i].Kind == engine.OpReset && results[i].Err == nil {
			s.table.forget(&ops[i])
		}
	}
	if len(*s.leased.Load()) == 0 {
		s.ask(ctx, ops, results)
		return
	}
	if len(ops) == 1 && results[0].Err == nil && spends(&ops[0]) && !s.closed.Load() {
		s.take(ctx, ops, results)
		return
	}
	s.many(ctx, ops, results)
}

// take spends held units, prefetches some, or forwards the operation.
func (s *Store) take(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	for ctx.Err() == nil {
		spent, own, waits := s.spend(ctx, &ops[0], &results[0])
		if spent {
			return
		}
		if waits != nil {
			select { // another caller is prefetching
			case <-waits:
			case <-ctx.Done():
			}
			continue
		}
		if own.record != nil {
			one := []engine.Op{own.op(&ops[0])}
			s.ask(ctx, one, results)
			own.finish(&results[0])
			return
		}
		break
	}
	s.ask(ctx, ops, results)
}

// spend spends held units on an operation. If there are too few, the key may need a prefetch: own is the request to
// make if the caller must make it, and waits is a channel to wait on if another caller is making it. If neither is set,
// the caller forwards the operation: for example, the key is not hot, or the number of processes is unknown.
func (s *Store) spend(ctx context.Context, op *engine.Op, r *engine.Answer) (spent bool, own advance, waits <-chan struct{}) {
	found := s.look(op, r)
	s.give(ctx, found.gives)
	if found.spent != nil {
		return true, advance{}, nil
	}
	if found.ours == nil {
		return false, advance{}, found.inFlight
	}
	// If the process is suspended after this point, its units are dead when it continues, so the number of processes by
	// then does not matter.
	sent := s.member.Now()
	n, known := s.members(sent)
	if !known || share(op.Charges[0].Limit, &s.config, n) == 0 {
		found.ours.finish(nil)
		return false, advance{}, nil
	}
	return false, advance{record: found.ours, limit: op.Charges[0].Limit, config: &s.config, members: n, sent: sent, taken: &s.taken}, nil
}

func (s *Store) ask(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	s.asked.Add(int64(len(ops)))
	s.store.Do(ctx, ops, results)
}

// Close gives the held units back and closes the wrapped store. It is idempotent.
func (s *Store) Close() error {
	if !s.Detach() {
		return nil
	}
	return s.store.Close()
}

// Detach gives the held units back and ends the layer, but leaves the wrapped store open. It reports whether the layer
// had not been ended before.
func (s *Store) Detach() bool {
	if s.closed.Swap(true) {
		return false
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	s.end()
	s.works.Wait()
	s.returnAll()
	s.leave()
	return true
}
