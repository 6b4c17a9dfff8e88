// Package redisstore keeps limits in Redis, or in a server that speaks and
// decides like it: standalone, Sentinel and Cluster.
//
// Every operation is decided inside the server by one script, at the server's
// time: the steps of package algo in Lua, equal to the last field. So any number
// of processes share a limit, exactly, whatever their clocks show. Operations of
// one call travel together: one script call for those whose keys share a slot
// (all of them where there is no Cluster), one write for each node.
//
// A store talks to Redis through a [Conn]. The modules adapter/rueidis and
// adapter/goredis have one each, and open stores by URL.
//
// The rooms, in the order in which a call goes through them:
//
//	store.go   a call → its scripts → results
//	plan.go    operations → script calls; join.go says which join which
//	runs.go    what is asked of one key, put together; replay.go answers it
//	flight.go  script calls → commands, and again where one did not run
//	keys.go    what a state is called; grid.go, by which numbers; shards.go, with tags that are shared
//	note.go    what processes agree about; watch.go reads it again; earlier.go finds states of a build before
//	encode.go  an operation → what its script reads
//	lua/       the scripts; script.go puts them together
//	decode.go  a reply → results
//	errors.go  what may go wrong, by class
//	split.go   operations over several slots; split_hold.go and split_undo.go, what
//	           is put back when one refuses
package redisstore

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

// Config sets up a store. The zero Config is a store with the defaults.
type Config struct {
	// Prefix begins every key: 1 to 64 bytes without braces. The default is
	// "headgate". Stores with other prefixes share nothing.
	Prefix string
	// MaxInFlight is how many calls may be under way at once; more wait, as
	// long as their contexts let them. 1 to 65536; the default is 1024.
	MaxInFlight int
	// Shards is how many hash tags all subjects share: 1 to 1024, or 0, where
	// each subject is a tag of its own. On a Cluster, operations on subjects of
	// one tag travel in one script call, so that few shards are faster; no
	// fewer than nodes. All processes need the same: see [Store.Agree].
	Shards int
	// Clock replaces the server's time, and keeps keys an hour longer than
	// they count: for tests, and to replay exact answers. Scripts that decide
	// real requests have no such clock.
	Clock func() time.Time
}

// What a store is that was not told otherwise.
const (
	DefaultPrefix      = "headgate"
	DefaultMaxInFlight = 1024
)

// Store is a [engine.Store] on Redis.
type Store struct {
	conn    Conn
	prefix  string
	clock   func() time.Time
	scripts *library
	shards  shards
	slots   chan struct{}
	closed  atomic.Bool
	// life ends with the store, and with it what listens.
	life context.Context
	end  context.CancelFunc
	// skew is the store's time less this process's, as told by the last
	// answer: only a first guess at the calendar depends on it.
	skew  atomic.Int64
	stats counters

	roundTrips atomic.Int64

	watch watch
	// undoing are split requests that are given back after their callers left, and
	// readings of the note.
	undoing sync.WaitGroup
	closing sync.Mutex // orders the start of these and Close
}

var _ engine.Store = (*Store)(nil)

// Check returns a [*engine.InputError] where no store could be set up so.
func (c Config) Check() error {
	if len(c.Prefix) > 64 || strings.ContainsAny(c.Prefix, "{}") {
		return &engine.InputError{Field: "prefix", Value: fmt.Sprintf("%q", c.Prefix), Accepted: "1 to 64 bytes without braces"}
	}
	if c.MaxInFlight < 0 || c.MaxInFlight > 1<<16 {
		return &engine.InputError{Field: "max_in_flight", Value: fmt.Sprint(c.MaxInFlight), Accepted: "1 to 65536"}
	}
	if c.Shards < 0 || c.Shards > MaxShards {
		return &engine.InputError{Field: "shards", Value: fmt.Sprint(c.Shards), Accepted: "0 to 1024"}
	}
	return nil
}

// New returns a store on the connection, which it closes when it is closed.
func New(conn Conn, c Config) (*Store, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = DefaultMaxInFlight
	}
	prelude := "prelude"
	if c.Clock != nil {
		prelude = "prelude_replay"
	}
	s := &Store{
		conn: conn, prefix: c.Prefix, clock: c.Clock, scripts: newLibrary(prelude),
		shards: newShards(c.Shards), slots: make(chan struct{}, c.MaxInFlight),
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Close ends the connections, once what has to be given back is: a second at
// most. Later calls answer engine.ErrClosed.
func (s *Store) Close() error {
	s.closing.Lock()
	closed := s.closed.Swap(true)
	s.closing.Unlock()
	if closed {
		return nil
	}
	s.end()
	ended := make(chan struct{})
	go func() {
		s.undoing.Wait()
		close(ended)
	}()
	timer := time.NewTimer(undoTime)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C: // a server that hangs; closing the connections ends what waits for it
	}
	return s.conn.Close()
}

// spawn runs something beside the calls, unless the store is closed.
func (s *Store) spawn(run func()) bool {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.closed.Load() {
		return false
	}
	s.undoing.Go(run)
	return true
}

// Do decides the operations. See [engine.Store].
func (s *Store) Do(ctx context.Context, ops []engine.Op, results []engine.Result) {
	if err := s.enter(ctx); err != nil {
		refuse(results, err)
		return
	}
	defer s.leave()
	if err := s.watchNote(ctx); err != nil {
		refuse(results, err)
		return
	}
	p := plans.Get().(*plan)
	defer p.free()
	p.start(s, ops, results)
	for i := range ops {
		if results[i].Err != nil {
			continue
		}
		if s.splits(&ops[i]) {
			// What came before on the same keys is decided before.
			s.run(ctx, p)
			s.split(ctx, &ops[i], &results[i])
			continue
		}
		p.add(i)
	}
	s.run(ctx, p)
}

// refuse answers an error to all operations that have none.
func refuse(results []engine.Result, err error) {
	for i := range results {
		if results[i].Err == nil {
			results[i].Err = err
		}
	}
}

// enter waits for one of the calls in flight.
func (s *Store) enter(ctx context.Context) error {
	if s.closed.Load() {
		return engine.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return s.fail(Unsent, "all calls in flight are taken", ctx.Err())
	}
}

func (s *Store) leave() { <-s.slots }

// tries is how often a call is sent at most: again where the server did not
// know the script, where the calendar's window was computed for another time,
// and, after a pause, where a slot was on the move. None has charged anything.
const tries = 4

// pause is how long a slot on the move is left alone; twice that the next time.
const pause = 5 * time.Millisecond

// run sends what is planned and fills in the results.
func (s *Store) run(ctx context.Context, p *plan) {
	for len(p.calls) > 0 {
		p.write(s.now(), s.clock)
		s.roundTrips.Add(1)
		s.conn.Do(ctx, p.commands, p.replies)
		if try := p.read(ctx); try > 0 {
			rest(ctx, pause<<(try-1))
		}
	}
	p.clear()
}

// rest waits, unless ctx ends before.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// now is the store's time as far as this process knows it.
func (s *Store) now() int64 {
	if s.clock != nil {
		return s.clock().UnixMicro()
	}
	return time.Now().UnixMicro() + s.skew.Load()
}

// heard notes the store's time.
func (s *Store) heard(at int64) {
	if s.clock == nil {
		s.skew.Store(at - time.Now().UnixMicro())
	}
}
