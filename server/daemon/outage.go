package daemon

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// calm is how long a store that failed again right after its return has to
// answer without a failure before it counts as back: a store of which a part is
// away, or that is full, both fails and answers.
const calm = time.Second

// outage logs one line when the store goes away and one when it returns. It is a
// [service.Watcher].
type outage struct {
	logger *slog.Logger
	away   atomic.Bool // written under mu

	mu       sync.Mutex
	since    time.Time // of this outage
	last     time.Time // failure
	returned time.Time
	unknown  int64 // decisions of this outage
	again    bool  // this outage began less than calm after a return
}

// Away reports whether an outage is logged and its end not.
func (o *outage) Away() bool { return o.away.Load() }

// Failed counts a decision that is not known. The first of an outage is logged.
func (o *outage) Failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	o.unknown++
	if o.away.Load() {
		return
	}
	o.since, o.unknown = o.last, 1
	o.again = o.since.Sub(o.returned) < calm
	o.away.Store(true)
	o.logger.Error("store away: decisions are not known", "error", err)
}

// Answered ends the outage, and logs how long it was and how many decisions were
// not known.
func (o *outage) Answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if !o.away.Load() || o.again && now.Sub(o.last) < calm {
		return
	}
	o.returned = now
	o.away.Store(false)
	o.logger.Info("store back", "away", now.Sub(o.since).Round(time.Millisecond), "unknown", o.unknown)
}
