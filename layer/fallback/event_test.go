package fallback_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
)

// A program is told once when the store is away, with the reason, and once when it is back. A program with shares used to
// run through an outage without a line in its log.
func TestOutagesAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type event struct {
			away  bool
			cause error
		}
		events := make(chan event, 10)
		s := newServer(t)
		all := s.start(t, 1, fallback.Config{OnOutage: func(away bool, cause error) { events <- event{away, cause} }})
		defer end(t, all)
		p := all[0].Limiter.PolicyOf("p", rule.FixedWindow(rule.PerHour(1000)))
		call := func(n int) {
			for range n {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				_, _ = p.Allow(ctx, "k")
				cancel()
			}
			synctest.Wait()
		}
		call(5)
		for range 2 { // every outage has its events
			s.set(nil, true)
			call(20)
			if e := <-events; !e.away || !errors.Is(e.cause, engine.ErrStoreUnavailable) {
				t.Errorf("the store hangs: %+v", e)
			}
			s.set(nil, false)
			time.Sleep(time.Second)
			if e := <-events; e.away || e.cause != nil {
				t.Errorf("the store is back: %+v", e)
			}
		}
		if len(events) > 0 {
			t.Errorf("%d more events", len(events))
		}
	})
}
