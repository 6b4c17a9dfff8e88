// Package service limits each address and each user, with ulule/limiter. Package headgate does the same with
// Headgate.
package service

import (
	"net/http"
	"time"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

// Handler limits an address to 5 requests an hour, and a user to 3.
func Handler(next http.Handler) http.Handler {
	perIP := limiter.New(memory.NewStore(), limiter.Rate{Period: time.Hour, Limit: 5})
	perUser := limiter.New(memory.NewStore(), limiter.Rate{Period: time.Hour, Limit: 3})
	byUser := stdlib.WithKeyGetter(func(r *http.Request) string { return r.Header.Get("X-User") })
	return stdlib.NewMiddleware(perIP).Handler(stdlib.NewMiddleware(perUser, byUser).Handler(next))
}
