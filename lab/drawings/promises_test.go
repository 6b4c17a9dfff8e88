package drawings

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

// shared is a store that several processes share. It can be away.
type shared struct {
	*memstore.Store

	away atomic.Bool
}

func (s *shared) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if !s.away.Load() {
		s.Store.Do(ctx, ops, results)
		return
	}
	for i := range results {
		results[i].Err = engine.ErrStoreUnavailable
	}
}

func (s *shared) Get(ctx context.Context, name string) (text string, version int64, err error) {
	if s.away.Load() {
		return "", 0, engine.ErrStoreUnavailable
	}
	return s.Store.Get(ctx, name)
}

// TestPromises sends 40 requests a second to four processes with a limit of 20 a second. The store is away from the
// second minute to the third. Each process first calls the store at a random time after its return. For this reason,
// the test does not compare the drawing, but counts the requests that pass while the store is away.
func TestPromises(t *testing.T) {
	var panels []panel
	for _, c := range []struct {
		mode string
		pass int // in 58 s
	}{{"local", 58 * 20}, {"deny", 0}, {"allow", 58 * 40}} {
		synctest.Test(t, func(t *testing.T) {
			r, pass := outage(t, c.mode), 0
			for _, at := range r.passed {
				if at >= 62*time.Second && at < 120*time.Second {
					pass++
				}
			}
			if pass < c.pass-4 || pass > c.pass+4 { // each process may hold a fraction of a unit
				t.Errorf("%s: %d pass, want %d", c.mode, pass, c.pass)
			}
			panels = append(panels, r.panel("failure: "+c.mode, 2*time.Second, 3*time.Minute))
		})
	}
	if *update {
		save(t, "promises", drawPanels("A limit of 20 a second, and its store is away from 60 s to 120 s", panels))
	}
}

// outage returns the results under a failure mode.
func outage(t *testing.T, mode string) (r result) {
	t.Helper()
	config, err := policy.Parse("policies.yaml", []byte("policies: {api: {algorithm: token-bucket, rate: 20/s, burst: 20, failure: "+mode+"}}"))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	store := &shared{Store: memory}
	processes := make([]*filelimit.Limiter, 4)
	for i := range processes {
		member, err := membership.New(store, membership.Config{})
		if err != nil {
			t.Fatal(err)
		}
		layer, err := fallback.New(store, member, fallback.Config{Expect: len(processes)})
		if err != nil {
			t.Fatal(err)
		}
		defer layer.Close()
		processes[i] = filelimit.New(config, headgate.New(headgate.WithStore(layer)))
	}
	began := time.Now()
	for i, at := range steady(nil, 0, 180, 40) {
		time.Sleep(at + time.Millisecond - time.Since(began)) // no request at the same instant as a process's own call
		synctest.Wait()
		store.away.Store(at >= time.Minute && at < 2*time.Minute)
		if d, err := processes[i%len(processes)].Allow(t.Context(), "api", "key"); err == nil && d.Allowed {
			r.passed = append(r.passed, at)
		} else {
			r.denied = append(r.denied, at)
		}
	}
	return r
}
