package httplimit

import (
	"context"
	"sync"
	"time"

	"github.com/headgate/headgate"
)

// unsettled counts the charges of each key whose final cost is not known yet. Such a charge may turn out to be 0, so the
// wait that the store computes from it can be far too long: after ten right passwords at once, under a limit of five
// failures in a quarter of an hour, five clients would be told to come back in a quarter of an hour.
type unsettled struct {
	mu sync.Mutex
	of map[chargedKey]int
}

// chargedKey names a counter: policies of one name share it.
type chargedKey struct{ policy, key string }

// unsettledWait is the wait of a denial while charges of its key are unsettled.
const unsettledWait = time.Second

// add counts an unsettled charge, until the returned function is called or the request's context ends. It counts
// nothing if the context cannot end, because then nothing would end a charge that the caller never settles.
func (u *unsettled) add(ctx context.Context, of chargedKey) (settled func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[chargedKey]int{}
	}
	u.of[of]++
	settled = sync.OnceFunc(func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.of[of]--; u.of[of] == 0 {
			delete(u.of, of)
		}
	})
	context.AfterFunc(ctx, settled)
	return settled
}

// shorten shortens the wait of a denial if charges of its key are unsettled.
func (u *unsettled) shorten(d *headgate.Decision, of chargedKey) {
	if d.Allowed || d.RetryAfter <= unsettledWait || d.RetryAfter == headgate.Never {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of[of] > 0 {
		d.RetryAfter = unsettledWait
	}
}
