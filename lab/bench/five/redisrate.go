package five

import (
	"context"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

func redisrateShared(_ context.Context, address string) (func(ctx context.Context, user string) (bool, error), error) {
	users := redis_rate.NewLimiter(redis.NewClient(&redis.Options{Addr: address}))
	return func(ctx context.Context, user string) (bool, error) {
		r, err := users.Allow(ctx, user, redis_rate.PerMinute(5))
		return err == nil && r.Allowed > 0, err
	}, nil
}
