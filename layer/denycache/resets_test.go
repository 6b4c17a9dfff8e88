package denycache_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/denycache"
	"github.com/headgate/headgate/memstore"
)

// channel is a coordinator whose subscription can break and whose messages can get lost.
type channel struct {
	engine.Coordinator

	cut  atomic.Bool
	lost chan struct{} // the current subscription ends when it is closed
}

func (c *channel) Subscribe(ctx context.Context, topic string, ready func(), heard func(string)) error {
	if c.cut.Load() {
		return errors.New("no connection")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	return c.Coordinator.Subscribe(ctx, topic, ready, heard)
}

// A reset in one process ends the denials that others repeat, as soon as its message arrives. After a gap in the
// subscription a process forgets all denials, because it may have missed a message.
func TestResetReachesOtherProcesses(t *testing.T) {
	limit := rule.TokenBucket(rule.PerHour(1))
	synctest.Test(t, func(t *testing.T) {
		memory, err := memstore.New(memstore.Config{Clock: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		coordinator := &channel{Coordinator: memory, lost: make(chan struct{})}
		processes := [2]*headgate.Limiter{}
		for i := range processes {
			store, err := denycache.New(memory, denycache.Config{MaxStale: time.Hour, Coordinator: coordinator})
			if err != nil {
				t.Fatal(err)
			}
			processes[i] = headgate.New(headgate.WithStore(store))
			defer store.Close()
		}
		here, other := processes[0], processes[1]
		deny := func(keys ...string) {
			t.Helper()
			for _, key := range keys {
				for range 3 {
					allow(t, other, key, limit)
				}
				if d := allow(t, other, key, limit); d.Allowed || d.Promise.Mode != engine.Cached {
					t.Fatalf("%s: %+v; want a repeated denial", key, d)
				}
			}
		}
		reset := func(key string) {
			t.Helper()
			if _, err := here.PolicyOf("", limit).Reset(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		allow(t, other, "warm", limit)
		synctest.Wait() // now both processes listen; as one begins to, it forgets its denials
		deny("a", "b")
		reset("a")
		if d := allow(t, other, "a", limit); !d.Allowed {
			t.Errorf("after the reset: %+v", d)
		}
		if d := allow(t, other, "b", limit); d.Promise.Mode != engine.Cached {
			t.Errorf("the denial of another key is forgotten: %+v", d)
		}

		coordinator.cut.Store(true)
		close(coordinator.lost)
		synctest.Wait()
		reset("b")
		if d := allow(t, other, "b", limit); d.Promise.Mode != engine.Cached {
			t.Errorf("without a message: %+v; want the denial until it is too old", d)
		}
		coordinator.lost = make(chan struct{})
		coordinator.cut.Store(false)
		time.Sleep(2 * time.Second)
		if d := allow(t, other, "b", limit); !d.Allowed {
			t.Errorf("after the subscription is there again: %+v", d)
		}
	})
}
