package faults

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// Regression: bug 35. A hanging server does not block callers beyond their deadlines. Operations that are in flight
// when it hangs are charged once or not at all, but never twice.
func TestHangs(t *testing.T) {
	t.Parallel()
	testbed.EachClient(t, func(t *testing.T, open func(testing.TB, testbed.Deployment, redisstore.Config) *redisstore.Store) {
		s := redistest.Standalone(t, redistest.Redis)
		store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{MaxInFlight: 50})
		testbed.Take(store, "k", testbed.Hourly)
		s.Pause()
		var wg sync.WaitGroup
		const callers = 100
		for range callers {
			wg.Go(func() {
				// This is long enough for a busy machine to begin the call. If the context ended before that, the error
				// would blame the caller.
				ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
				defer cancel()
				results := make([]engine.Answer, 1)
				store.Do(ctx, []engine.Op{engine.Single(engine.OpAllow, "k", testbed.Hourly, 1)}, results)
				if err := results[0].Err; !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, headgate.ErrStoreUnavailable) {
					t.Errorf("a server that hangs: %v", err)
				}
			})
		}
		wg.Wait() // while the server still hangs
		testbed.Until(t, "no call is in flight", func() bool { return store.Stats().InFlight == 0 })
		s.Resume()
		testbed.RecoversFrom(t, store)
	})
}

// Even a call without a deadline ends, because the client eventually closes the connection to the hanging server.
func TestHangsWithoutDeadline(t *testing.T) {
	t.Parallel()
	testbed.EachClient(t, func(t *testing.T, open func(testing.TB, testbed.Deployment, redisstore.Config) *redisstore.Store) {
		s := redistest.Standalone(t, redistest.Redis)
		store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
		testbed.Take(store, "k", testbed.Hourly)
		s.Pause()
		defer s.Resume()
		answered := make(chan error, 1)
		go func() {
			results := make([]engine.Answer, 1)
			store.Do(context.Background(), []engine.Op{engine.Single(engine.OpAllow, "k", testbed.Hourly, 1)}, results)
			answered <- results[0].Err
		}()
		select {
		case err := <-answered:
			if !errors.Is(err, headgate.ErrStoreUnavailable) {
				t.Errorf("a server that hangs: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("no answer")
		}
	})
}

// A caller that cancels while a server hangs gets an error immediately, even if it set no deadline and other calls are
// in flight.
func TestCancelled(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	testbed.Take(store, "k", testbed.Hourly)
	s.Pause()
	defer s.Resume()
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	const callers = 5
	for range callers {
		wg.Go(func() {
			results := make([]engine.Answer, 1)
			store.Do(ctx, []engine.Op{engine.Single(engine.OpAllow, "k", testbed.Hourly, 1)}, results)
			if err := results[0].Err; !errors.Is(err, context.Canceled) || !errors.Is(err, headgate.ErrOutcomeUnknown) {
				t.Errorf("cancelled: %v", err)
			}
		})
	}
	for store.Stats().InFlight < callers {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond) // by then the calls are sent
	cancel()
	silence := time.NewTimer(4 * time.Second) // one second before the connection is closed
	defer silence.Stop()
	wg.Wait()
	select {
	case <-silence.C:
		t.Error("the callers returned only when the connection was given up")
	default:
	}
}

// One caller at a time needs one connection, and many concurrent callers need only a few.
func TestConnections(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	used := func() int { return strings.Count(s.Text("client", "list"), "cmd=eval") }
	for range 10 {
		testbed.Take(store, "k", testbed.Hourly)
	}
	if n := used(); n != 1 {
		t.Errorf("one caller: %d connections were used, want 1", n)
	}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for range 20 {
				testbed.Take(store, strconv.Itoa(i), testbed.Hourly)
			}
		})
	}
	wg.Wait()
	if n := used(); n < 2 || n > 6 {
		t.Errorf("64 callers: %d connections were used, want at most 2 of their own and 4 shared ones", n)
	}
}

// proxy forwards bytes to a server. When armed, it forwards the next request, but closes the connection instead of
// returning the reply. While silent, it returns no replies.
type proxy struct {
	listener net.Listener
	to       atomic.Value // the server's address, for new connections
	armed    atomic.Bool
	silent   atomic.Bool
	open     atomic.Int64 // connections
	lost     atomic.Int64
	wg       sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l}
	p.to.Store(to)
	p.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", p.to.Load().(string))
			if err != nil {
				_ = client.Close()
				continue
			}
			p.wg.Go(func() { p.requests(client, server) })
			p.open.Add(1)
			p.wg.Go(func() {
				p.answers(client, server)
				p.open.Add(-1)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) requests(client, server net.Conn) {
	_, _ = io.Copy(server, client)
	_ = server.Close()
}

func (p *proxy) answers(client, server net.Conn) {
	defer client.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		if p.silent.Load() {
			continue
		}
		if p.armed.CompareAndSwap(true, false) {
			p.lost.Add(1)
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// A script whose reply was lost has run. It must not run again, whatever the client's retry settings are.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	testbed.EachClient(t, func(t *testing.T, open func(testing.TB, testbed.Deployment, redisstore.Config) *redisstore.Store) {
		s := redistest.Standalone(t, redistest.Redis)
		p := newProxy(t, s.Addr())
		store := open(t, testbed.At(p.listener.Addr().String(), ""), redisstore.Config{})
		direct := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
		left := func() int64 {
			results := make([]engine.Answer, 1)
			direct.Do(context.Background(), []engine.Op{{Kind: engine.OpPeek, Space: "s", Key: "k", Charges: []engine.Charge{{Limit: testbed.Hourly, Cost: 1}}}}, results)
			return results[0].Binds().Remaining
		}
		charged := 0
		for range 20 {
			testbed.RecoversFrom(t, store)
			before := left()
			p.armed.Store(true)
			r := testbed.Take(store, "k", testbed.Hourly)
			if p.armed.Swap(false) || r.Err == nil {
				continue // another command's reply was lost
			}
			if !errors.Is(r.Err, headgate.ErrOutcomeUnknown) {
				t.Fatalf("after a lost answer: %v", r.Err)
			}
			// The lost reply may have been part of a new connection's handshake.
			switch before - left() {
			case 1:
				charged++
			case 0:
			default:
				t.Fatalf("one call charged %d", before-left())
			}
		}
		if charged < 5 {
			t.Errorf("%d answers of scripts that had run were lost, want 5 at least", charged)
		}
	})
}

// Spent units that the server has persisted are still spent after a restart. Lost scripts are sent again.
func TestRestart(t *testing.T) {
	t.Parallel()
	testbed.EachClient(t, func(t *testing.T, open func(testing.TB, testbed.Deployment, redisstore.Config) *redisstore.Store) {
		s := redistest.Standalone(t, redistest.Redis, "appendonly yes", "appendfsync always")
		store := open(t, testbed.At(s.Addr(), ""), redisstore.Config{})
		testbed.Take(store, "k", testbed.Hourly)
		s.Restart()
		testbed.Recovers(t, store, 98)
	})
}

// A primary dies while many callers send requests. No caller hangs, and decisions continue. A key gets back at most
// its limit, and only once (section 9).
func TestFailover(t *testing.T) {
	t.Parallel()
	testbed.EachClient(t, func(t *testing.T, open func(testing.TB, testbed.Deployment, redisstore.Config) *redisstore.Store) {
		t.Parallel()
		t.Run("cluster", func(t *testing.T) {
			c := redistest.Cluster(t, redistest.Redis)
			failover(t, open(t, testbed.Guard(t, testbed.OfCluster(c)), redisstore.Config{}), func() { c.KillPrimaryOf(testbed.StateKey("k")) })
		})
		t.Run("sentinel", func(t *testing.T) {
			s := redistest.Sentinel(t, redistest.Redis)
			failover(t, open(t, testbed.Guard(t, testbed.OfSentinel(s)), redisstore.Config{}), s.KillPrimary)
		})
	})
}

func failover(t *testing.T, store *redisstore.Store, kill func()) {
	t.Helper()
	limit := rule.TokenBucket(rule.PerDay(200))
	var allowed, decided, failed, unknown atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				one, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
				results := make([]engine.Answer, 1)
				store.Do(one, []engine.Op{{Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit, Cost: 1}}}}, results)
				cancel()
				switch {
				case results[0].Err != nil:
					failed.Add(1)
					if errors.Is(results[0].Err, headgate.ErrOutcomeUnknown) {
						unknown.Add(1) // may have been charged
					}
				case results[0].Allowed:
					allowed.Add(1)
				default:
					decided.Add(1)
				}
				time.Sleep(5 * time.Millisecond) // the caller's pace, not a wait for an event
			}
		})
	}
	time.Sleep(50 * time.Millisecond) // let some requests pass first
	kill()
	before := decided.Load() + allowed.Load()
	for end := time.Now().Add(20 * time.Second); decided.Load()+allowed.Load() < before+400; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("no decisions after the failover: %d failed", failed.Load())
			break
		}
	}
	stop()
	wg.Wait()
	if n := allowed.Load(); n+unknown.Load() < 200 || n > 400 {
		t.Errorf("%d of a limit of 200 passed over one failover, %d may have", n, unknown.Load())
	}
	if failed.Load() == 0 {
		t.Error("no call failed: nothing was killed under load")
	}
	t.Logf("%d allowed, %d denied, %d failed: %v", allowed.Load(), decided.Load(), failed.Load(), store.Stats().Errors)
}
