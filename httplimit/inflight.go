package httplimit

import (
	"net/http"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit/wire"
)

// InFlight returns a decider that bounds the requests of a key that are served at the same time: each holds one unit of
// the semaphore until it has been served, also if it takes longer than the lease time.
//
//	exports := limiter.Semaphore("exports", headgate.Concurrency{Units: 3})
//	httplimit.By(httplimit.InFlight(exports, byCustomer))
//
// A denied request gets a Retry-After of at most a second, because a request can end at any time. InFlight panics if the
// semaphore is invalid or the key is nil.
func InFlight(semaphore *headgate.Semaphore, key Key) Settler {
	headgate.Must(semaphore)
	require(key != nil, "the key of InFlight")
	return &inFlight{semaphore, key}
}

type inFlight struct {
	semaphore *headgate.Semaphore
	key       Key
}

// AllowRequest implements [Decider]. The unit stays held until the request's context and the lease time have ended.
func (f *inFlight) AllowRequest(r *http.Request) (headgate.Decision, error) {
	answer, err := f.ChargeRequest(r, false)
	return answer.Decision, err
}

// ChargeRequest implements [Settler].
func (f *inFlight) ChargeRequest(r *http.Request, _ bool) (answer Answer, err error) {
	key, err := f.key.of(r)
	if err != nil {
		return answer, err
	}
	permit, d, err := f.semaphore.TryAcquire(r.Context(), key, 1)
	if err != nil {
		return answer, err
	}
	d.RetryAfter = wire.SoonestRelease(d.RetryAfter)
	answer.Decision, answer.Cost = d, 1
	if d.Allowed {
		permit.Hold(r.Context())
		answer.Done = func() {
			ctx, cancel := settling(r.Context())
			defer cancel()
			_ = permit.Release(ctx) // after an error the unit is held until its lease ends
		}
	}
	return answer, nil
}
