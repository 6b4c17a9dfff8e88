package five

import (
	"context"
	"net/http"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/open"
)

func headgateCalls() func() bool {
	calls := headgate.New().Policy("calls", headgate.TokenBucket{Rate: headgate.PerSecond(10), Burst: 20})
	return func() bool {
		d, err := calls.Allow(context.Background(), "all")
		return err == nil && d.Allowed
	}
}

func headgateUsers() func(user string) bool {
	users := headgate.New().Policy("users", headgate.FixedWindow{Rate: headgate.PerMinute(5)})
	return func(user string) bool {
		d, err := users.Allow(context.Background(), user)
		return err == nil && d.Allowed
	}
}

func headgateServer(next http.Handler) http.Handler {
	perIP := headgate.New().Policy("per-ip", headgate.FixedWindow{Rate: headgate.PerMinute(60)})
	return httplimit.New(perIP, httplimit.ByIP())(next)
}

func headgateWorker() func(ctx context.Context) error {
	turns := headgate.New().Policy("turns", headgate.TokenBucket{Rate: headgate.PerSecond(10), Burst: 1})
	return func(ctx context.Context) error {
		_, err := turns.Wait(ctx, "worker")
		return err
	}
}

func headgateShared(ctx context.Context, address string) (func(ctx context.Context, user string) (bool, error), error) {
	store, err := open.URL(ctx, "redis://"+address, open.Options{})
	if err != nil {
		return nil, err
	}
	users := headgate.New(headgate.WithStore(store)).Policy("users", headgate.FixedWindow{Rate: headgate.PerMinute(5)})
	return func(ctx context.Context, user string) (bool, error) {
		d, err := users.Allow(ctx, user)
		return d.Allowed, err
	}, nil
}
