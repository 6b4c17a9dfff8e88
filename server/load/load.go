// Package load asks a store or a server for decisions, many or at a fixed rate,
// and says how long they took and how right they were.
//
//	load.go      a run: callers, progress, what it came to
//	caller.go    one caller
//	target.go    what is asked; resp.go, http.go and store.go, how
//	accuracy.go  the decisions beside those of the exact steps
package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/headgate/headgate"
)

// Config is what is asked, and how.
type Config struct {
	// Limit is what every key is asked under. With a Policy, what it is
	// compared with; a limit that was not built compares nothing.
	Limit headgate.Limit
	// Policy names a server's own limit, which is asked in place of Limit.
	Policy string
	// Keys is how many keys there are: 1 to 10 million.
	Keys int
	// Zipf asks for few keys most: the first for a tenth or more, of 10 000.
	// Otherwise every key is as likely.
	Zipf bool
	// Callers is how many ask at once: 1 to 10000.
	Callers int
	// PerSecond is the rate at which is asked, however long answers take; 0 is
	// as fast as they come. Latencies are counted from when an operation was
	// due.
	PerSecond float64
	// Lasts is how long: up to an hour.
	Lasts time.Duration
	// Timeout bounds one decision.
	Timeout time.Duration
}

// The bounds of a run.
const (
	MaxKeys    = 10_000_000
	MaxCallers = 10_000
	maxLasts   = time.Hour
	// maxLogged is how many decisions are compared at most; later ones are not.
	maxLogged = 1 << 24
)

// Check returns an [*headgate.InputError] where no run could be made.
func (c *Config) Check() error {
	for _, f := range []struct {
		field    string
		value    any
		ok       bool
		accepted string
	}{
		{"keys", c.Keys, c.Keys >= 1 && c.Keys <= MaxKeys, "1 to 10000000"},
		{"callers", c.Callers, c.Callers >= 1 && c.Callers <= MaxCallers, "1 to 10000"},
		{"rate", c.PerSecond, c.PerSecond >= 0 && c.PerSecond <= 1e8, "0 (as fast as answers come) to 100000000"},
		{"duration", c.Lasts, c.Lasts > 0 && c.Lasts <= maxLasts, "up to 1h"},
		{"timeout", c.Timeout, c.Timeout > 0 && c.Timeout <= maxLasts, "up to 1h"},
	} {
		if !f.ok {
			return &headgate.InputError{Field: f.field, Value: fmt.Sprint(f.value), Accepted: f.accepted}
		}
	}
	return nil
}

// Report is what a run came to.
type Report struct {
	Took                     time.Duration
	Allowed, Refused, Failed int64
	// Latency is in µs.
	Latency *hdrhistogram.Histogram
	// Error is one of those that came.
	Error    error
	Accuracy Accuracy
}

// Decisions is how many were answered.
func (r *Report) Decisions() int64 { return r.Allowed + r.Refused }

// histogram is from 1 µs to 5 minutes, to three digits.
func histogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 300_000_000, 3) }

// counters are read while callers write them.
type counters struct {
	allowed, refused, failed, logged atomic.Int64
	failure                          atomic.Pointer[error]
}

// Progress is what has been answered so far.
type Progress struct {
	Allowed, Refused, Failed int64
}

// Run asks the target until the time is over or ctx ends, and tells progress
// every second. An error means that nothing was asked.
func Run(ctx context.Context, target Target, c Config, progress func(time.Duration, Progress)) (*Report, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	keys := names(c.Keys)
	callers := make([]*caller, c.Callers)
	var shared counters
	for i := range callers {
		ask, err := target.open(ctx, &c)
		if err != nil {
			closeAll(callers)
			return nil, err
		}
		callers[i] = &caller{config: &c, index: i, keys: keys, ask: ask, shared: &shared, latency: histogram()}
	}
	defer closeAll(callers)
	start := time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(c.Lasts))
	defer cancel()
	var wg sync.WaitGroup
	for _, each := range callers {
		wg.Go(func() { each.run(ctx, start) })
	}
	watched := watch(ctx, start, &shared, progress)
	wg.Wait()
	cancel()
	<-watched
	return reported(&c, callers, &shared, time.Since(start), target.storeTime()), nil
}

func closeAll(callers []*caller) {
	for _, c := range callers {
		if c != nil {
			c.ask.close()
		}
	}
}

// watch tells progress until ctx ends.
func watch(ctx context.Context, start time.Time, shared *counters, progress func(time.Duration, Progress)) (ended chan struct{}) {
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				progress(time.Since(start), Progress{shared.allowed.Load(), shared.refused.Load(), shared.failed.Load()})
			}
		}
	}()
	return ended
}

func reported(c *Config, callers []*caller, shared *counters, took time.Duration, storeTime bool) *Report {
	r := &Report{Took: took, Allowed: shared.allowed.Load(), Refused: shared.refused.Load(), Failed: shared.failed.Load(), Latency: histogram()}
	if failure := shared.failure.Load(); failure != nil {
		r.Error = *failure
	}
	var log []entry
	for _, each := range callers {
		r.Latency.Merge(each.latency)
		log = append(log, each.log...)
	}
	r.Accuracy = compare(c.Limit, c.Keys, log)
	r.Accuracy.StoreTime = storeTime
	r.Accuracy.Left = r.Decisions() - int64(len(log))
	return r
}
