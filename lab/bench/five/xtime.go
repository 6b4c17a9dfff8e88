package five

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

func xtimeCalls() func() bool {
	calls := rate.NewLimiter(10, 20)
	return calls.Allow
}

func xtimeUsers() func(user string) bool {
	var mu sync.Mutex
	users := map[string]*rate.Limiter{} // grows with the number of users and never shrinks
	return func(user string) bool {
		mu.Lock()
		defer mu.Unlock()
		if users[user] == nil {
			users[user] = rate.NewLimiter(rate.Every(time.Minute/5), 5)
		}
		return users[user].Allow()
	}
}

func xtimeWorker() func(ctx context.Context) error {
	turns := rate.NewLimiter(10, 1)
	return turns.Wait
}
