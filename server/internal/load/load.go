// Package load is a load generator for servers and stores. It sends requests as fast as possible or at a fixed rate,
// and measures the latency and the accuracy of the decisions.
//
//	load.go      a run: callers, report
//	caller.go    one caller
//	target.go    the target of the requests; resp.go, http.go and store.go implement it
//	accuracy.go  comparison with an exact simulation
package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/headgate/headgate/engine"
)

// Config configures a run.
type Config struct {
	// Limit is the limit for every key. If Policy is set, Limit is used only for the comparison, and the zero Limit
	// disables the comparison.
	Limit engine.Limit
	// Policy is the name of a server's policy, which requests use instead of Limit.
	Policy string
	// Keys is the number of keys: 1 to 10 million.
	Keys int
	// Zipf sends most requests to few keys: with 10 000 keys, at least a tenth to the first. If it is false, all keys
	// are equally likely.
	Zipf bool
	// Callers is the number of concurrent callers: 1 to 10 000.
	Callers int
	// Rate is the rate of requests, regardless of how long answers take. At a fixed rate, latency counts from the
	// time when a request was due. If Rate is 0, each caller sends its next request after the previous answer.
	Rate float64
	// Duration is the length of the run: at most an hour.
	Duration time.Duration
	// Timeout bounds one request.
	Timeout time.Duration
}

// Bounds of a run.
const (
	MaxKeys     = 10_000_000
	MaxCallers  = 10_000
	maxDuration = time.Hour
	// maxLogged is the maximum number of decisions recorded for comparison.
	maxLogged = 1 << 24
)

// Check returns an [*engine.InputError] if a field is invalid.
func (c *Config) Check() error {
	for _, f := range []struct {
		field    string
		value    any
		ok       bool
		accepted string
	}{
		{"keys", c.Keys, c.Keys >= 1 && c.Keys <= MaxKeys, "1 to 10000000"},
		{"callers", c.Callers, c.Callers >= 1 && c.Callers <= MaxCallers, "1 to 10000"},
		{"rate", c.Rate, c.Rate >= 0 && c.Rate <= 1e8, "0 (as fast as answers come) to 100000000"},
		{"duration", c.Duration, c.Duration > 0 && c.Duration <= maxDuration, "up to 1h"},
		{"timeout", c.Timeout, c.Timeout > 0 && c.Timeout <= maxDuration, "up to 1h"},
	} {
		if !f.ok {
			return &engine.InputError{Field: f.field, Value: fmt.Sprint(f.value), Accepted: f.accepted}
		}
	}
	return nil
}

// Report is the result of a run.
type Report struct {
	Took                    time.Duration
	Allowed, Denied, Failed int64
	// Latency is the histogram of latencies in µs.
	Latency *hdrhistogram.Histogram
	// Error is one of the errors that occurred. It is nil if none occurred.
	Error    error
	Accuracy Accuracy
}

// Decisions returns the number of decisions, allowed or denied.
func (r *Report) Decisions() int64 { return r.Allowed + r.Denied }

// histogram returns a histogram for 1 µs to 5 minutes with three significant digits.
func histogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 300_000_000, 3) }

// counters are incremented by callers.
type counters struct {
	allowed, denied, failed, logged atomic.Int64
	failure                         atomic.Pointer[error]
}

// Run sends requests to the target until Duration is over or ctx ends. An error means that no request was sent.
func Run(ctx context.Context, target Target, c Config) (*Report, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	keys := newKeys(c.Keys)
	callers := make([]*caller, c.Callers)
	var shared counters
	for i := range callers {
		client, err := target.open(ctx, &c)
		if err != nil {
			closeAll(callers)
			return nil, err
		}
		callers[i] = &caller{config: &c, index: i, keys: keys, client: client, shared: &shared, latency: histogram()}
	}
	defer closeAll(callers)
	start := time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(c.Duration))
	defer cancel()
	var wg sync.WaitGroup
	for _, each := range callers {
		wg.Go(func() { each.run(ctx, start) })
	}
	wg.Wait()
	return report(&c, callers, &shared, time.Since(start), target.storeTime()), nil
}

func closeAll(callers []*caller) {
	for _, c := range callers {
		if c != nil {
			c.client.close()
		}
	}
}

func report(c *Config, callers []*caller, shared *counters, took time.Duration, storeTime bool) *Report {
	r := &Report{Took: took, Allowed: shared.allowed.Load(), Denied: shared.denied.Load(), Failed: shared.failed.Load(), Latency: histogram()}
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
	r.Accuracy.Skipped = r.Decisions() - int64(len(log))
	return r
}
