// Package lease takes units of hot keys in advance, so that most decisions on
// them need not ask the store.
//
// A process that asks for a key again and again takes a part of what is left of
// it, one (2·N)-th for N processes at most, and spends that by itself for a short
// time, [Config.Life]. Near the limit the parts become nothing, and every
// decision is asked for again: so it becomes exact by itself. What is not spent
// goes back at half its life, and when the store is closed. What a process
// that dies holds stays spent.
//
// The price is a bound, which every decision states. Units of a window are
// spent within the window (or the segment of a sliding one) in which they were
// taken, or not at all: no window exceeds its limit. Units of a token bucket
// can be spent later than they were taken, by Life at most: in any span
// min(⌈Life·rate⌉, N·⌊burst/(2·N)⌋) more than the limit can pass, and 0 in total.
// Who resets a key, or loses its state, gives back what processes hold of it
// besides.
//
// Only limits that are named in [Config.Limits] are leased, one unit at a time:
// everything else goes to the store as it is.
//
//	lease.go    a take → spent here, taken in advance, or asked for
//	hold.go     what is held of one key
//	table.go    what is known of keys, bounded
//	members.go  how many processes there are
//	return.go   what goes back
package lease

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/algo"
)

// What a store is that was not told otherwise.
const (
	DefaultHotAfter = 8
	DefaultMaxKeys  = 1 << 16
)

// Config sets up a store.
type Config struct {
	// Limits are those that are leased: token buckets without debt, fixed and
	// sliding windows that do not count their denials. At least one.
	Limits []headgate.Limit
	// Life is how long units are held at most: 10 ms to 10 s. It has no default.
	Life time.Duration
	// MaxUnits is how many are held of a key at most: 1 to 1 million. It has no
	// default.
	MaxUnits int64
	// Group names the processes that share the limits: 1 to 256 bytes. The
	// default is "leases".
	Group string
	// HotAfter is how often a key is asked for within a Life before it is
	// leased: 1 to 1 million. The default is 8.
	HotAfter int
	// MaxKeys is how many keys are watched: 64 to 2^24. Others are not leased.
	// The default is 65536, some 24 MiB.
	MaxKeys int
}

// Store is a [headgate.Store] in front of another.
type Store struct {
	store   headgate.Store
	config  Config
	leased  map[headgate.Limit]bool
	table   table
	members *members

	life   context.Context
	end    context.CancelFunc
	works  sync.WaitGroup
	closed atomic.Bool

	spent, asked, returned, lost atomic.Int64
}

var _ headgate.Store = (*Store)(nil)

// New returns a store in front of another, which it closes when it is closed. The
// coordinator tells how many processes there are; mostly it is the store behind
// all others.
func New(store headgate.Store, coordinator headgate.Coordinator, c Config) (*Store, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &Store{store: store, config: c, leased: map[headgate.Limit]bool{}}
	for _, l := range c.Limits {
		s.leased[l] = true
	}
	s.table.start(c.MaxKeys)
	s.life, s.end = context.WithCancel(context.Background())
	s.members = &members{coordinator: coordinator, group: c.Group, own: rand.Text(), beat: max(time.Second, c.Life), life: c.Life}
	s.works.Go(func() { s.members.run(s.life) })
	s.works.Go(s.giveBack)
	return s, nil
}

func (c *Config) check() error {
	if c.Group == "" {
		c.Group = "leases"
	}
	if c.HotAfter == 0 {
		c.HotAfter = DefaultHotAfter
	}
	if c.MaxKeys == 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	refuse := func(field string, value any, accepted string) error {
		return &headgate.InputError{Field: field, Value: fmt.Sprint(value), Accepted: accepted}
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
	case len(c.Limits) == 0:
		return refuse("limits", "empty", "at least one")
	}
	for _, l := range c.Limits {
		if !leasable(l.Numbers()) {
			return refuse("limits", l, "token buckets without debt, fixed and sliding windows that do not count their denials")
		}
	}
	return headgate.CheckName("group", c.Group)
}

// leasable reports whether a limit's units can be taken in advance: not a
// pacer's, which have an order; nor a log's, which are of an instant; nor where
// denials or debts count, since those are made by asking.
func leasable(l *algo.Limit) bool {
	switch l.Algorithm {
	case algo.TokenBucket:
		return l.Queue == 0
	case algo.FixedWindow, algo.SlidingWindow:
		return !l.CountDenied
	default:
		return false
	}
}

// Unwrap returns the store behind.
func (s *Store) Unwrap() headgate.Store { return s.store }

// Stats is what a store has counted.
type Stats struct {
	// Spent is how many units were spent here, Asked how many operations the
	// store behind was asked.
	Spent, Asked int64
	// Returned is how many units went back, Lost how many could not.
	Returned, Lost int64
	// Members is how many processes there are; 0 is not known.
	Members int
}

// Stats returns what the store has counted.
func (s *Store) Stats() Stats {
	n, _ := s.members.count(time.Now())
	return Stats{Spent: s.spent.Load(), Asked: s.asked.Load(), Returned: s.returned.Load(), Lost: s.lost.Load(), Members: n}
}

// Do decides the operations. See [headgate.Store].
func (s *Store) Do(ctx context.Context, ops []headgate.Op, results []headgate.Result) {
	for i := range ops {
		if ops[i].Kind == headgate.OpReset && results[i].Err == nil {
			s.table.forget(&ops[i])
		}
	}
	if len(ops) != 1 || results[0].Err != nil || !s.leases(&ops[0]) {
		// What many ask in one call costs one call already.
		s.ask(ctx, ops, results)
		return
	}
	s.take(ctx, ops, results)
}

func (s *Store) leases(op *headgate.Op) bool {
	return op.Kind == headgate.OpTake && len(op.Charges) == 1 && op.Charges[0].Cost == 1 && s.leased[op.Charges[0].Limit] && !s.closed.Load()
}

// take spends a unit that is held, or takes some in advance, or asks for one.
func (s *Store) take(ctx context.Context, ops []headgate.Op, results []headgate.Result) {
	for ctx.Err() == nil {
		found := s.table.look(&ops[0], s.config.Life, s.config.HotAfter)
		switch {
		case found.spent:
			s.spent.Add(1)
			results[0].Decision = found.decision
			return
		case found.underWay != nil:
			select { // somebody takes some already
			case <-found.underWay:
			case <-ctx.Done():
			}
			continue
		case found.ours != nil:
			if n, known := s.members.count(time.Now()); known {
				s.advance(ctx, &ops[0], results, found.ours, n)
				return
			}
			found.ours.finish(hold{})
		}
		break
	}
	s.ask(ctx, ops, results)
}

func (s *Store) ask(ctx context.Context, ops []headgate.Op, results []headgate.Result) {
	s.asked.Add(int64(len(ops)))
	s.store.Do(ctx, ops, results)
}

// advance takes a unit for the caller, and some to hold.
func (s *Store) advance(ctx context.Context, op *headgate.Op, results []headgate.Result, own *record, n int) {
	charge := op.Charges[0]
	charge.Cost = 1 + s.config.MaxUnits
	many := *op
	many.Kind, many.Share, many.Charges = headgate.OpAtMost, int64(2*n), []headgate.Charge{charge}
	sent := time.Now()
	s.ask(ctx, []headgate.Op{many}, results)
	held := hold{}
	if d := &results[0].Decision; results[0].Err == nil && d.Allowed {
		held = newHold(charge.Limit, *d, sent, s.config.Life, n)
		d.Granted, d.Remaining = 1, d.Remaining+held.units
	}
	own.finish(held)
}

// Close gives back what is held and closes the store behind.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.end()
	s.works.Wait()
	s.returnAll()
	s.members.leave()
	return s.store.Close()
}
