package redisstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

// Store is an [engine.Store] on Redis.
type Store struct {
	conn    Conn
	prefix  string
	clock   func() time.Time // nil means the server's time
	scripts *scripts
	shards  shards
	// writesMany is set if merged scripts can write with MSETEX. askedMany is set once a reply has shown whether they
	// can.
	writesMany, askedMany atomic.Bool
	// inFlight holds one element for each call in flight. Its capacity is Config.MaxInFlight.
	inFlight chan struct{}
	closed   atomic.Bool
	// lifetime ends when the store is closed, which also ends subscriptions.
	lifetime    context.Context
	endLifetime context.CancelFunc
	// clockOffset is the server's time minus this process's time, in µs, at the last reply. A calendar window computed
	// with a wrong offset is computed again: see encodeFixed.
	clockOffset atomic.Int64
	errorCounts errorCounts
	roundTrips  atomic.Int64
	marker      marker
	working     working
	// refusedCommands are commands for operators that the server's ACL refused.
	refusedCommands refusedCommands
	renewed         atomic.Int64  // when the connections were last renewed, in ns since 1970
	swept           atomic.Uint32 // number of calls of Due

	// background counts the goroutines that outlive a call: they give units back after a caller has left, or read the
	// format marker. closing prevents new goroutines while Close waits.
	background sync.WaitGroup
	closing    sync.Mutex
}

var _ engine.Store = (*Store)(nil)

func newStore(conn Conn, c Config) *Store {
	prelude := "prelude"
	if c.Clock != nil {
		prelude = "prelude_replay"
	}
	s := &Store{
		conn: conn, prefix: c.Prefix, clock: c.Clock, scripts: newScripts(prelude),
		shards: newShards(c.Shards), inFlight: make(chan struct{}, c.MaxInFlight),
	}
	s.lifetime, s.endLifetime = context.WithCancel(context.Background())
	return s
}

// Err returns an error if New did not make the store. headgate.WithStore reports it.
func (s *Store) Err() error {
	if s == nil || s.conn == nil {
		return engine.InvalidInput("store", "not set", "the result of redisstore.New")
	}
	return nil
}

// Do decides the operations. See [engine.Store].
func (s *Store) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if err := s.begin(ctx); err != nil {
		engine.Fail(results, err)
		return
	}
	defer s.end()
	if err := s.formatError(ctx); err != nil {
		engine.Fail(results, err)
		return
	}
	p := pipelines.Get().(*pipeline)
	defer p.free()
	p.start(s, ops, results)
	for i := range ops {
		if results[i].Err != nil {
			continue
		}
		if (len(ops[i].Charges) > 1 || ops[i].Kind == engine.OpSettle) && s.spansSlots(&ops[i]) {
			p.send(ctx) // earlier operations may use the same keys
			if ops[i].Atomic || ops[i].Chosen() {
				results[i].Err = s.atomicError(&ops[i])
				continue
			}
			s.split(ctx, &ops[i], &results[i])
			continue
		}
		p.add(i)
	}
	p.send(ctx)
}

// begin waits until fewer than MaxInFlight calls are in flight, and counts one more.
func (s *Store) begin(ctx context.Context) error {
	if s.closed.Load() {
		return engine.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.inFlight <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.inFlight <- struct{}{}:
		return nil
	case <-ctx.Done():
		return s.fail(nil, Unsent, "as many calls are in flight as max_in_flight allows", ctx.Err())
	}
}

// end ends a call counted by begin.
func (s *Store) end() { <-s.inFlight }

// Close waits up to one second for the charges of denied or cancelled requests to be given back, and then closes the
// connection. Close is idempotent. Later operations, and later calls to the methods of [engine.Coordinator], return
// [engine.ErrClosed].
func (s *Store) Close() error {
	if err := s.Err(); err != nil {
		return err
	}
	s.closing.Lock()
	closed := s.closed.Swap(true)
	s.closing.Unlock()
	if closed {
		return nil
	}
	s.endLifetime()
	ended := make(chan struct{})
	go func() {
		s.background.Wait()
		close(ended)
	}()
	timer := time.NewTimer(undoTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C: // the server hangs, and closing the connection ends the goroutines
	}
	return s.conn.Close()
}

// goBackground starts a goroutine that Close waits for. It returns false if the
// store is closed.
func (s *Store) goBackground(run func()) bool {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.closed.Load() {
		return false
	}
	s.background.Go(run)
	return true
}

// plain reports whether a store with the defaults would find the same states. Only such a store may start before it has
// read the marker.
func (s *Store) plain() bool { return len(s.shards) == 0 }
