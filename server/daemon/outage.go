package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
)

// recoveryTime is how long the store must answer without a failure before an outage ends. It applies only to an outage
// that began less than recoveryTime after another one. A full store, or a Cluster with some nodes down, alternates
// between failing and answering.
const recoveryTime = time.Second

// outage logs one line when the store fails and one when it answers again. It implements [service.Watcher]. A store
// whose answers are late for less than recoveryTime counts as slow, not as unavailable.
type outage struct {
	logger *slog.Logger
	away   atomic.Bool // written under mu

	mu       sync.Mutex
	told     bool      // the outage has been logged and counted
	since    time.Time // start of the outage
	last     time.Time // last failure
	ended    time.Time // end of the previous outage
	unknown  int64     // undecided operations in the outage
	replies  service.Replies
	flapping bool // the outage began less than recoveryTime after another one
	sums     metrics.Outage

	slow lograte.Limit // limits log lines about late answers
}

func newOutage(logger *slog.Logger) *outage {
	return &outage{logger: logger, slow: lograte.Limit{Lines: 1, Per: time.Minute}}
}

// Away reports whether there is an outage.
func (o *outage) Away() bool { return o.away.Load() }

// Failed counts an undecided operation. It logs the first one of an outage. If the store is only late, it logs a line
// about slow answers instead.
func (o *outage) Failed(ctx context.Context, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	o.unknown++
	o.sums.Unknown++
	if !o.away.Load() {
		o.since, o.unknown, o.replies, o.told = o.last, 1, service.Replies{}, false
		o.flapping = o.since.Sub(o.ended) < recoveryTime
		o.away.Store(true)
	}
	if o.told {
		return
	}
	attributes := []slog.Attr{slog.Any("error", err)}
	if id := requestid.From(ctx); id != "" {
		attributes = append(attributes, slog.String("request_id", id))
	}
	if errors.Is(err, context.DeadlineExceeded) && o.last.Sub(o.since) < recoveryTime {
		if before, ok := o.slow.Allow(o.last); ok {
			o.logger.LogAttrs(ctx, slog.LevelWarn, "store slow: failure modes decide", append(attributes, slog.Int64("unknown", before+1))...)
		}
		return
	}
	o.told = true
	o.sums.Outages++
	o.logger.LogAttrs(ctx, slog.LevelError, "store away: failure modes decide", attributes...)
}

// Replied counts the answers to clients during the outage.
func (o *outage) Replied(r service.Replies) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away.Load() {
		o.replies.Allowed += r.Allowed
		o.replies.Errors += r.Errors
		o.replies.Local += r.Local
	}
}

// Answered ends the outage. It logs the outage's duration, the number of undecided operations, and the answers to
// clients.
func (o *outage) Answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if !o.away.Load() || o.flapping && now.Sub(o.last) < recoveryTime {
		return
	}
	o.ended = now
	o.away.Store(false)
	if !o.told {
		return
	}
	o.sums.Total += now.Sub(o.since)
	o.logger.Info("store back", "away_ms", format.Millis(now.Sub(o.since)), "unknown", o.unknown,
		"allowed", o.replies.Allowed, "errors", o.replies.Errors, "local", o.replies.Local)
}

// state returns the counts of all outages, including the current one.
func (o *outage) state() metrics.Outage {
	o.mu.Lock()
	defer o.mu.Unlock()
	state := o.sums
	if state.Away = o.away.Load() && o.told; state.Away {
		state.For = time.Since(o.since)
		state.Total += state.For
	}
	return state
}
