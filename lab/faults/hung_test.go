package faults

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
)

// While a server hangs, every caller gets its answer soon after its own deadline, also while the process's other calls,
// whose deadlines are later, wait for a connection (regression: bug 163).
func TestHungServerHoldsNoCaller(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	layered, err := open.URL(t.Context(), "redis://"+s.Addr(), open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer layered.Close()
	stores := []engine.Store{
		layered, testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{}), testbed.OpenGoredis(t, testbed.At(s.Addr(), ""), redisstore.Config{}),
	}
	const deadline, callers = 50 * time.Millisecond, 3 // two calls at a time have connections of their own
	slowest := make([][callers]time.Duration, len(stores))
	call := func(lasts time.Duration) {
		var wg sync.WaitGroup
		for i, store := range stores {
			for n := range callers {
				wg.Go(func() {
					results := make([]engine.Answer, 1)
					for began := time.Now(); time.Since(began) < lasts; {
						ctx, cancel := context.WithTimeout(t.Context(), deadline)
						called := time.Now()
						store.Do(ctx, []engine.Op{engine.Single(engine.OpAllow, "k", testbed.Hourly, 1)}, results)
						slowest[i][n] = max(slowest[i][n], time.Since(called))
						results[0] = engine.Answer{}
						cancel()
					}
				})
			}
		}
		wg.Wait()
	}
	call(100 * time.Millisecond)
	s.Pause()
	defer s.Resume()
	call(4 * time.Second)
	for i, all := range slowest {
		for _, took := range all {
			if took > 10*deadline { // before, up to 1.1 s; a busy machine needs some time
				t.Errorf("store %d: a call with a deadline of %s took %s", i, deadline, took)
			}
		}
	}
}

// A server whose connections break, and that then accepts connections but does not answer, like one behind a proxy, holds
// no caller beyond its deadline: calls with later deadlines wait for the same new connection. The servers have answered a
// moment ago (regression: bug 241).
func TestSilentServerHoldsNoCaller(t *testing.T) {
	t.Parallel()
	testbed.EachClient(t, func(t *testing.T, open testbed.Opener) {
		s := redistest.Standalone(t, redistest.Redis)
		p := newProxy(t, s.Addr())
		store := open(t, testbed.At(p.listener.Addr().String(), ""), redisstore.Config{})
		const deadline, callers = 50 * time.Millisecond, 12
		var slowest [callers]time.Duration
		call := func() {
			var wg sync.WaitGroup
			for n := range callers {
				within := deadline
				if n < callers/2 {
					within = 2 * time.Second
				}
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), within)
					defer cancel()
					called := time.Now()
					store.Do(ctx, []engine.Op{engine.Single(engine.OpAllow, strconv.Itoa(n), testbed.Hourly, 1)}, make([]engine.Answer, 1))
					slowest[n] = time.Since(called) - within
				})
			}
			wg.Wait()
		}
		for range 20 {
			call()
		}
		p.silent.Store(true)
		s.MustDo("client", "kill", "type", "normal", "skipme", "yes")
		testbed.Until(t, "the connections are closed", func() bool { return p.open.Load() == 0 })
		call()
		for n, late := range slowest {
			if late > 10*deadline { // before, up to 2 s; a busy machine needs some time
				t.Errorf("caller %d got its answer %s after its deadline", n, late)
			}
		}
	})
}

// While one master of a Cluster hangs, callers of its keys get their answers soon after their deadlines, also when its
// connection has been closed and calls wait for a new one while the other masters answer (regression: bugs 191, 212). A client
// that has not called before has to learn about the servers meanwhile.
func TestHungMasterHoldsNoCaller(t *testing.T) {
	t.Parallel()
	testbed.EachClient(t, func(t *testing.T, open testbed.Opener) {
		t.Parallel()
		c := redistest.Cluster(t, redistest.Redis)
		hangMaster(t, c, open(t, testbed.OfCluster(c), redisstore.Config{}))
	})
}

func hangMaster(t *testing.T, c *redistest.Nodes, store *redisstore.Store) {
	t.Helper()
	const deadline = 50 * time.Millisecond
	allow := func(key string) (took time.Duration, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		results, began := make([]engine.Answer, 1), time.Now()
		store.Do(ctx, []engine.Op{engine.Single(engine.OpAllow, key, testbed.Hourly, 1)}, results)
		return time.Since(began), results[0].Err
	}
	hung := c.Hang(testbed.StateKey("hung"))
	defer c.Recover(hung)
	other := 0
	for _, of := c.Of(testbed.StateKey("0")); of == hung; _, of = c.Of(testbed.StateKey(strconv.Itoa(other))) {
		other++
	}
	answered, failed, slowest := 0, 0, [10]time.Duration{}
	var calls sync.WaitGroup
	for began, n := time.Now(), 0; n <= len(slowest); n++ {
		calls.Go(func() {
			for time.Since(began) < 9*time.Second { // connections that do not answer are closed after 5 s
				if n < len(slowest) {
					took, _ := allow("hung")
					slowest[n] = max(slowest[n], took)
				} else if _, err := allow(strconv.Itoa(other)); err == nil {
					answered++
				} else {
					failed++
				}
				time.Sleep(deadline / 5)
			}
		})
	}
	calls.Wait()
	for _, took := range slowest {
		if took > 20*deadline { // before, 2 s; a busy machine needs some time
			t.Errorf("a call with a deadline of %s took %s", deadline, took)
		}
	}
	if failed > answered/50 {
		t.Errorf("%d of %d calls of another master's key failed", failed, failed+answered)
	}
}
