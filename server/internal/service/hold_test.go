package service_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

// unconfirmed is a store that grants every permit. If a permit needs replicas, it cancels the caller's context and
// returns ErrNotReplicated.
type unconfirmed struct {
	engine.Store

	leave context.CancelFunc
}

func (u *unconfirmed) Do(ctx context.Context, ops []engine.Op, results []engine.Result) {
	u.Store.Do(ctx, ops, results)
	for i := range ops {
		if ops[i].Kind == engine.OpAcquire && ops[i].Replicas.Count > 0 {
			results[i].Err = fmt.Errorf("0 of 1: %w", headgate.ErrNotReplicated)
			u.leave()
		}
	}
}

// TestGivesUpPermits (regression: bug 55) checks that permits that are not replicated, including permits of shadows,
// are released if no client has received their id. If the client itself chose the id, its permit is kept, because the
// client may have held these units before.
func TestGivesUpPermits(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(`
policies:
  jobs:  {algorithm: concurrency, limit: 3, replicas: 1}
  trial: {algorithm: concurrency, limit: 3, shadow: true}
  both:  {all: [jobs, trial], replicas: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	late := &unconfirmed{Store: store}
	limiter := headgate.New(headgate.WithStore(late))
	defer limiter.Close()
	s := service.New(service.Config{Limiter: limiter, Policies: config.Policies})
	held := func(name, key string) int64 {
		op := engine.Single(engine.OpPeek, key, rule.Concurrency(3), 1)
		op.Space = engine.PolicySpace(name)
		return 3 - operate.Do(t.Context(), limiter, []engine.Op{op}, nil)[0].Decision.Remaining
	}
	for i, c := range []struct {
		policy, id string
		held       int64
	}{{"jobs", "", 0}, {"both", "", 0}, {"jobs", "mine", 1}} {
		key := fmt.Sprint("k", i)
		ctx, cancel := context.WithCancel(t.Context())
		late.leave = cancel
		responses := make([]decide.Response, 2)
		s.Do(ctx, service.HTTP, []decide.Request{
			{Kind: engine.OpAcquire, Policy: c.policy, Key: key, ID: c.id}, {Kind: engine.OpPeek, Policy: c.policy, Key: key},
		}, responses)
		if err := responses[0].Err; !errors.Is(err, headgate.ErrNotReplicated) || responses[0].ID != "" {
			t.Errorf("%s: %+v, want an error and no id", c.policy, responses[0])
		}
		if jobs, trial := held("jobs", key), held("trial", key); jobs != c.held || trial != 0 {
			t.Errorf("%s with id %q: %d and %d units are held, want %d and 0", c.policy, c.id, jobs, trial, c.held)
		}
	}
}

// TestReserveWithoutTheSharedSecret checks that a server that started in an outage, and has not read the shared
// secret yet, signs with its own secret. It can settle these reservations even after it has read the shared secret
// (regression: bug 57).
func TestReserveWithoutTheSharedSecret(t *testing.T) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	shared, away := []byte("shared"), true
	secret := func(context.Context) ([]byte, error) {
		if away {
			return nil, headgate.ErrStoreUnavailable
		}
		return shared, nil
	}
	limiter := headgate.New(headgate.WithStore(store))
	s, other := service.New(service.Config{Limiter: limiter, Secret: secret}), service.New(service.Config{Limiter: limiter, Secret: secret})
	reserve := decide.Request{Kind: engine.OpReserve, Key: "k", Limit: two, Cost: 1, HasCost: true}
	settle := func(r decide.Response) decide.Request {
		return decide.Request{Kind: engine.OpSettle, HasCost: true, Reservation: r.Reservation}
	}
	own := do(s, reserve)[0]
	if own.Err != nil || !own.Decision.Allowed || own.Reservation == "" {
		t.Fatalf("%+v", own)
	}
	if r := do(other, settle(own))[0]; !errors.Is(r.Err, headgate.ErrStoreUnavailable) {
		t.Errorf("another server, which does not know either: %+v", r)
	}
	away = false
	var invalid *service.Error
	if r := do(other, settle(own))[0]; !errors.As(r.Err, &invalid) || invalid.Code != service.Invalid {
		t.Errorf("another server: %+v", r)
	}
	if r := do(s, settle(own))[0]; r.Err != nil || !r.Found {
		t.Errorf("the server itself: %+v", r)
	}
	if r := do(other, settle(do(s, reserve)[0]))[0]; r.Err != nil || !r.Found {
		t.Errorf("signed with the shared secret: %+v", r)
	}
}
