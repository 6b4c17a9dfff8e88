package service_test

import (
	"context"
	"errors"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

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
	limiter := core.New(core.Config{Store: store})
	s, other := service.New(service.Config{Limiter: limiter, Secret: secret}), service.New(service.Config{Limiter: limiter, Secret: secret})
	reserve := decide.Request{Kind: engine.OpReserve, Item: decide.Item{Key: "k", Limit: two, Cost: 1, HasCost: true}}
	settle := func(r decide.Response) decide.Request {
		return decide.Request{Kind: engine.OpSettle, Item: decide.Item{HasCost: true}, Reservation: r.Reservation}
	}
	own := do(s, reserve)[0]
	if own.Err != nil || !own.Allowed || own.Reservation == "" {
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
