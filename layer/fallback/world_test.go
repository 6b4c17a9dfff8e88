package fallback_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/memstore"
)

// server is a store that several processes share and that can fail.
type server struct {
	mu   sync.Mutex
	now  *memstore.Store
	err  error         // the error that each call returns, or nil
	hang bool          // calls block until their contexts end
	late bool          // calls are decided, but answered after their contexts have ended
	slow time.Duration // delay of answers after their calls are decided
	skip time.Duration // how far the clocks of the store and of the processes were advanced
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.lose(t)
	return s
}

// lose replaces the server's store with an empty one, as after a loss of data.
func (s *server) lose(t testing.TB) {
	t.Helper()
	memory, err := memstore.New(memstore.Config{Clock: s.clock})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = memory
}

func (s *server) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.skip)
}

// pass advances the clocks in one step, without beats in between, and then waits until the processes have beaten again.
func (s *server) pass(d time.Duration) {
	s.mu.Lock()
	s.skip += d
	s.mu.Unlock()
	time.Sleep(2500 * time.Millisecond) // until the processes know of each other again
}

// older replaces the data with a backup, which contains the coordinator's values from an earlier time and no states.
func (s *server) older(t *testing.T, backup map[string]string) {
	t.Helper()
	s.lose(t)
	for name, text := range backup {
		if _, swapped, err := s.now.CompareAndSet(t.Context(), name, 0, text); err != nil || !swapped {
			t.Fatal(err)
		}
	}
}

// backup returns the values of a group's markers.
func (s *server) backup(t *testing.T) map[string]string {
	t.Helper()
	const name = membership.DefaultGroup
	text, version, err := s.now.Get(t.Context(), name)
	if err != nil || version == 0 {
		t.Fatal("there is no marker", err)
	}
	return map[string]string{name: text}
}

// answer sets whether answers arrive before the callers' contexts end. Otherwise calls are decided, but answered late.
func (s *server) answer(inTime bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = !inTime
}

// left returns the number of units that the key "k" has left under a limit in the store, without the layer.
func (s *server) left(t *testing.T, limit engine.Limit) int64 {
	t.Helper()
	op := engine.Single(engine.OpPeek, "k", limit, 0)
	op.Space = "s"
	return do(t, s.now, op).Binds().Remaining
}

func (s *server) set(err error, hang bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.hang = err, hang
}

// call returns the server's store, or the error that a call to the server returns now.
func (s *server) call(ctx context.Context) (*memstore.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // nothing is sent
	}
	s.mu.Lock()
	now, err, hang := s.now, s.err, s.hang
	s.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, fmt.Errorf("%w: %w", engine.ErrOutcomeUnknown, ctx.Err())
	}
	return now, err
}

func (s *server) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	now, err := s.call(ctx)
	if err == nil {
		now.Do(ctx, ops, results)
		s.mu.Lock()
		late, slow := s.late, s.slow
		s.mu.Unlock()
		if !late {
			time.Sleep(slow)
			return
		}
		<-ctx.Done()
		err = fmt.Errorf("%w: %w", engine.ErrOutcomeUnknown, ctx.Err())
		clear(results)
	}
	for i := range results {
		if results[i].Err == nil {
			results[i].Err = err
		}
	}
}

func (s *server) Close() error { return nil }

func (s *server) Beat(ctx context.Context, group, member string, life time.Duration) ([]string, error) {
	now, err := s.call(ctx)
	if err != nil {
		return nil, err
	}
	return now.Beat(ctx, group, member, life)
}

func (s *server) Leave(ctx context.Context, group, member string) error {
	now, err := s.call(ctx)
	if err != nil {
		return err
	}
	return now.Leave(ctx, group, member)
}

func (s *server) Get(ctx context.Context, name string) (string, int64, error) {
	now, err := s.call(ctx)
	if err != nil {
		return "", 0, err
	}
	return now.Get(ctx, name)
}

func (s *server) CompareAndSet(ctx context.Context, name string, version int64, value string) (int64, bool, error) {
	now, err := s.call(ctx)
	if err != nil {
		return 0, false, err
	}
	return now.CompareAndSet(ctx, name, version, value)
}

// process is one of the processes that share the server.
type process struct {
	*headgate.Limiter
	store *fallback.Store
}

// join returns a member of the processes that share a store.
func join(t testing.TB, coordinator engine.Coordinator, clock func() time.Time) *membership.Member {
	t.Helper()
	m, err := membership.New(coordinator, membership.Config{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// start starts processes, and waits until their number has not changed for a minute.
func (s *server) start(t *testing.T, n int, c fallback.Config) (all []process) {
	t.Helper()
	for range n {
		store, err := fallback.New(s, join(t, s, s.clock), c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, process{Limiter: headgate.New(headgate.WithStore(store)), store: store})
	}
	time.Sleep(62 * time.Second)
	return all
}

func end(t *testing.T, all []process) {
	t.Helper()
	for _, p := range all {
		if err := p.store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// allow calls each process in turn until all of them deny, and returns the number of units that passed. Each call may
// take 20 ms.
func allow(t *testing.T, all []process, key string, limit engine.Limit) (passed int64, last headgate.Decision) {
	t.Helper()
	for denied := 0; denied < len(all); {
		denied = 0
		for _, p := range all {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			d, err := p.Limiter.PolicyOf("p", limit).Allow(ctx, key)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			if last = d; d.Allowed {
				passed++
			} else {
				denied++
			}
		}
	}
	return passed, last
}
