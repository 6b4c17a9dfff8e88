package headgatetest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
)

// Limiter is an in-memory limiter that uses the test's clock and records its requests. Pass its Limiter to the program
// under test. It is safe for concurrent use.
type Limiter struct {
	*headgate.Limiter

	// Clock sets the time of the decisions. [headgate.Policy.Wait], [headgate.Semaphore.Acquire] and
	// [headgate.Reservation.Delay] use the system's clock instead. To test them, use headgate.New() in a
	// testing/synctest bubble.
	Clock *Clock

	mu       sync.Mutex
	recorded []headgate.Result
}

// NewLimiter returns a limiter for a test and closes it at the end of the test. The options are added to NewLimiter's
// own. An observer in the options replaces the recording. An invalid option fails the test, and so does WithStore, with
// which Clock would have no effect.
func NewLimiter(t TB, options ...headgate.Option) *Limiter {
	t.Helper()
	l := &Limiter{Clock: NewClock()}
	store, err := memstore.New(memstore.Config{Clock: l.Clock.Now})
	if err != nil {
		t.Fatalf("%v", err)
	}
	own := []headgate.Option{headgate.WithStore(store), headgate.WithObserver(l.record), headgate.WithCore(func(c *core.Config) { c.Now = l.Clock.Now })}
	replaced := headgate.WithCore(func(c *core.Config) {
		if c.Store != engine.Store(store) && c.Invalid == nil {
			const accepted = "no WithStore, because Clock would have no effect; headgate.New takes any store"
			c.Invalid = engine.InvalidInput("store", "set", accepted)
		}
	})
	l.Limiter = headgate.New(append(append(own, options...), replaced)...)
	if err := l.PolicyOf("", engine.NoLimit()).Err(); err != nil {
		t.Fatalf("an option is invalid: %v", err)
	}
	t.Cleanup(func() {
		_ = l.Close()
		_ = store.Close()
	})
	return l
}

func (l *Limiter) record(_ context.Context, r headgate.Result) {
	r.Policy, r.Key, r.Decision.Binding.Policy = strings.Clone(r.Policy), strings.Clone(r.Key), strings.Clone(r.Decision.Binding.Policy)
	r.Decision.Limits = slices.Clone(r.Decision.Limits)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recorded = append(l.recorded, r)
}

// Recorded returns the requests since the limiter was created, or since the last Forget, in the order of their
// decisions. It contains requests that can take units, whether they were allowed, denied or failed, but no peeks, gives
// or resets.
func (l *Limiter) Recorded() []headgate.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.recorded)
}

// Forget removes the recorded requests. The counters do not change.
func (l *Limiter) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recorded = nil
}
