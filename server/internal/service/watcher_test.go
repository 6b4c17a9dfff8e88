package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

// fixedStore answers every operation with the same result.
type fixedStore struct{ result engine.Answer }

func (s *fixedStore) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		if results[i].Err == nil {
			results[i] = s.result
		}
	}
}

func (s *fixedStore) Close() error { return nil }

// counter is a watcher that counts its calls.
type counter struct {
	away             bool
	failed, answered int
}

func (c *counter) Failed(context.Context, error) { c.failed++ }
func (c *counter) Away() bool                    { return c.away }
func (c *counter) Answered()                     { c.answered++ }

// TestWatcherSeesOutages checks that only failures of the store count as failed, and that only the store's own
// answers to calls that began in an outage count as answered.
func TestWatcherSeesOutages(t *testing.T) {
	promised := func(m engine.Mode) engine.Answer {
		return engine.Answer{Allowed: true, Promise: engine.Promise{Mode: m}}
	}
	for name, c := range map[string]struct {
		result           engine.Answer
		away             bool
		limit            engine.Limit
		failed, answered int
	}{
		"fails":                {engine.Answer{Err: headgate.ErrStoreUnavailable}, false, one, 1, 0},
		"fails again":          {engine.Answer{Err: headgate.ErrStoreUnavailable}, true, one, 1, 0},
		"client disconnected":  {engine.Answer{Err: context.Canceled}, false, one, 0, 0},
		"limiter closed":       {engine.Answer{Err: headgate.ErrClosed}, false, one, 0, 0},
		"invalid request":      {engine.Answer{Err: &engine.InputError{Field: "cost"}}, true, one, 0, 0},
		"no outage":            {promised(engine.Exact), false, one, 0, 0},
		"answers again":        {promised(engine.Exact), true, one, 0, 1},
		"answers on a Cluster": {promised(engine.Split), true, one, 0, 1},
		"prefetched unit":      {promised(engine.Leased), true, one, 0, 0},
		"limit without state":  {promised(engine.Exact), true, engine.NoLimit(), 0, 0},
	} {
		w := &counter{away: c.away}
		s := service.New(service.Config{Limiter: core.New(core.Config{Store: &fixedStore{c.result}}), Watcher: w, Failure: policy.Allow})
		do(s, take("k", c.limit))
		if w.failed != c.failed || w.answered != c.answered {
			t.Errorf("%s: failed %d times, answered %d; want %d and %d", name, w.failed, w.answered, c.failed, c.answered)
		}
	}
}

// TestEndedContextIsNotAnOutage (regression: bug 66): a call whose context has already ended does not count as an
// outage, because the store was not called.
func TestEndedContextIsNotAnOutage(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	for _, mode := range []policy.Failure{policy.Deny, policy.Allow, policy.Local} {
		w := new(counter)
		s := service.New(service.Config{
			Limiter: core.New(core.Config{Store: &fixedStore{engine.Answer{Err: ctx.Err()}}}), Watcher: w, Failure: mode, Deadline: time.Second,
		})
		s.Do(ctx, service.HTTP, []decide.Request{take("k", one)}, make([]decide.Response, 1))
		if w.failed != 0 {
			t.Errorf("%v: failed %d times, want none", mode, w.failed)
		}
	}
}

// TestWatcherSeesFailedShadows checks that the watcher sees a failure if the store cannot count a shadow, even if the
// request is allowed.
func TestWatcherSeesFailedShadows(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte("policies: {quiet: {algorithm: gcra, rate: 1/s, shadow: true}}"))
	if err != nil {
		t.Fatal(err)
	}
	w := new(counter)
	away := &fixedStore{engine.Answer{Err: headgate.ErrStoreUnavailable}}
	s := service.New(service.Config{Limiter: core.New(core.Config{Store: away}), Policies: config.Policies, Watcher: w})
	if r := do(s, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "quiet", Key: "k"}})[0]; r.Err != nil || !r.Allowed || w.failed != 1 {
		t.Errorf("%+v, %d failures; want it allowed, and 1", r, w.failed)
	}
}
