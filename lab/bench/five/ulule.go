package five

import (
	"context"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	redisstore "github.com/ulule/limiter/v3/drivers/store/redis"
)

func ululeUsers() func(user string) bool {
	users := limiter.New(memory.NewStore(), limiter.Rate{Period: time.Minute, Limit: 5})
	return func(user string) bool {
		r, err := users.Get(context.Background(), user)
		return err == nil && !r.Reached
	}
}

func ululeServer(next http.Handler) http.Handler {
	perIP := limiter.New(memory.NewStore(), limiter.Rate{Period: time.Minute, Limit: 60})
	return stdlib.NewMiddleware(perIP).Handler(next)
}

func ululeShared(_ context.Context, address string) (func(ctx context.Context, user string) (bool, error), error) {
	store, err := redisstore.NewStore(redis.NewClient(&redis.Options{Addr: address}))
	if err != nil {
		return nil, err
	}
	users := limiter.New(store, limiter.Rate{Period: time.Minute, Limit: 5})
	return func(ctx context.Context, user string) (bool, error) {
		r, err := users.Get(ctx, user)
		return err == nil && !r.Reached, err
	}, nil
}
