package httplimit

import (
	"context"
	"errors"
	"net/http"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/httplimit/wire"
)

// Adaptive returns middleware that uses the limiter to bound the number of requests in flight. The limit adapts to
// the latency of the requests. A denied request gets a 503 with a Retry-After of 1 s to 4 s, because the server is
// overloaded and the caller is not at fault. Requests whose context reaches its deadline, and responses with status
// 503 or 504, count as failed. Requests whose client leaves before the response count as failed only if they took
// longer than the limiter's Latency. Otherwise they are ignored.
//
// Keep health checks outside the middleware. Use separate limiters for cheap and expensive requests, because the
// latency of a mixture is not meaningful.
func Adaptive(l *adaptive.Limiter) func(http.Handler) http.Handler {
	if l == nil {
		panic("httplimit: the limiter of Adaptive is nil; accepted: the result of adaptive.New")
	}
	return func(next http.Handler) http.Handler {
		requireHandler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			permit, ok := l.TryAcquire()
			if !ok {
				wire.NewProblem(http.StatusServiceUnavailable, "", "the server is overloaded").Write(w)
				return
			}
			record := &recorder{writer: w}
			returned := false
			defer func() { permit.Release(outcome(r.Context(), record.response(returned))) }()
			next.ServeHTTP(record.like(w), r)
			returned = true
		})
	}
}

func outcome(ctx context.Context, o Response) adaptive.Outcome {
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded), wire.Overloaded(o.Status):
		return adaptive.Failed
	case ctx.Err() != nil:
		return adaptive.Abandoned
	default:
		return adaptive.Done
	}
}
