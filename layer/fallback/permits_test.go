package fallback_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
)

// Permits that other processes release, as behind a load balancer, do not use up the shares of the process that acquired
// them, neither in an outage nor after a loss (regression: bug 274).
func TestPermitsReleasedElsewhere(t *testing.T) {
	for _, fair := range []bool{false, true} {
		limit := ten
		if fair {
			limit = rule.FairConcurrency(10, rule.LeaseTime(time.Minute))
		}
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			all := s.start(t, 2, fallback.Config{})
			defer end(t, all)
			ask := func(process int, kind engine.Kind, id int) engine.Answer {
				op := engine.Single(kind, "k", limit, 1)
				op.Space, op.ID = "s", fmt.Sprint(id)
				r := do(t, all[process].store, op)
				return *r
			}
			for i := range 20 {
				if r := ask(0, engine.OpAcquire, i); !r.Allowed || r.Promise.Mode != engine.Exact {
					t.Fatalf("%d: %+v", i, r)
				}
				if r := ask(1, engine.OpRelease, i); !r.Found {
					t.Fatalf("%d: %+v", i, r)
				}
			}
			s.set(headgate.ErrStoreUnavailable, false)
			for i := range 3 {
				if r := ask(0, engine.OpAcquire, 100+i); !r.Allowed {
					t.Errorf("permit %d of a share of 5: %+v", i, r)
				}
				ask(0, engine.OpRelease, 100+i)
			}
			s.set(nil, false)
			s.lose(t)
			time.Sleep(5 * time.Second)
			for i := range 3 {
				if r := ask(0, engine.OpAcquire, 200+i); !r.Allowed || r.Promise.Mode != engine.Fallback {
					t.Errorf("permit %d after a loss: %+v", i, r)
				}
			}
		})
	}
}

// In an outage, releases of permits that nobody has, and permits of made-up keys, leave room for the permits and
// settlements of others (regression: bug 276).
func TestOneKindCannotFillTheOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{})
		defer end(t, all)
		s.set(headgate.ErrStoreUnavailable, false)
		made := make([]engine.Op, 1000)
		for _, kind := range []engine.Kind{engine.OpRelease, engine.OpAcquire} {
			for n := range 70 {
				for i := range made {
					made[i] = engine.Single(kind, fmt.Sprint(n, "/", i), ten, 1)
					made[i].Space, made[i].ID = "made up", "id"
				}
				all[0].store.Do(t.Context(), made, make([]engine.Answer, len(made)))
			}
			if r := acquire(t, all[0].store, engine.OpAcquire, fmt.Sprint(kind)); r.Err != nil || !r.Allowed {
				t.Errorf("after 70000 of the kind %s: %+v", kind, r)
			}
		}
		if owed := all[0].store.Stats().Owed; owed > 1<<16 {
			t.Errorf("%d are owed", owed)
		}
	})
}
