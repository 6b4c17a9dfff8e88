package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/requestid"
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
	class    string    // of the logged error
	unknown  int64     // undecided operations in the outage
	flapping bool      // the outage began less than recoveryTime after another one
	sums     metrics.Outage

	slow, undecided lograte.Limit // limit log lines about late answers, and about errors of a store that is there
}

func newOutage(logger *slog.Logger) *outage {
	return &outage{logger: logger, slow: lograte.Limit{Lines: 1, Per: time.Minute}, undecided: lograte.Limit{Lines: 1, Per: time.Minute}}
}

// Away reports whether there is an outage.
func (o *outage) Away() bool { return o.away.Load() }

// Failed counts an undecided operation. It logs the first one of an outage. If the store is only late, it logs a line
// about slow answers instead, and if the store is there but cannot decide, such as on a key that it cannot read, a line
// about the error.
func (o *outage) Failed(ctx context.Context, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sums.Unknown++
	if !engine.Away(err) && !errors.Is(err, engine.ErrOutcomeUnknown) {
		if before, ok := o.undecided.Allow(time.Now()); ok {
			o.logger.LogAttrs(ctx, slog.LevelError, "store error: failure modes decide", append(attributes(ctx, err), slog.String("class", classOf(err)), slog.Int64("unknown", before+1))...)
		}
		return
	}
	o.begin()
	o.unknown++
	if o.told {
		return
	}
	if errors.Is(err, context.DeadlineExceeded) && o.last.Sub(o.since) < recoveryTime {
		if before, ok := o.slow.Allow(o.last); ok {
			o.logger.LogAttrs(ctx, slog.LevelWarn, "store slow: failure modes decide", append(attributes(ctx, err), slog.Int64("unknown", before+1))...)
		}
		return
	}
	o.tell(ctx, err)
}

// attributes returns an error, and the id of its request if it has one, for a log line.
func attributes(ctx context.Context, err error) []slog.Attr {
	all := []slog.Attr{slog.Any("error", err)}
	if id := requestid.From(ctx); id != "" {
		all = append(all, slog.String("request_id", id))
	}
	return all
}

// Changed begins or ends the outage when the store fails or passes the tests of package fallback, which also run while
// there are no requests.
func (o *outage) Changed(away bool, cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !away && o.away.Load():
		o.end()
	case away:
		if o.begin(); !o.told {
			o.tell(context.Background(), cause)
		}
	}
}

// begin begins an outage, unless there is one. The caller holds mu.
func (o *outage) begin() {
	o.last = time.Now()
	if o.away.Load() {
		return
	}
	o.since, o.unknown, o.told = o.last, 0, false
	o.flapping = o.since.Sub(o.ended) < recoveryTime
	o.away.Store(true)
}

// tell logs and counts the outage. The caller holds mu.
func (o *outage) tell(ctx context.Context, err error) {
	o.told, o.class = true, classOf(err)
	o.sums.Outages++
	o.logger.LogAttrs(ctx, slog.LevelError, "store away: failure modes decide", append([]slog.Attr{slog.String("class", o.class)}, attributes(ctx, err)...)...)
}

// classOf returns the class of a store's error, such as out_of_memory. Layers that stop waiting for the store have errors
// of their own, without a class.
func classOf(err error) string {
	named, ok := errors.AsType[interface {
		error
		Name() string
	}](err)
	switch {
	case ok && named.Name() != "":
		return named.Name()
	case errors.Is(err, engine.ErrOutcomeUnknown):
		return redisstore.OutcomeUnknown.String()
	default:
		return redisstore.Unsent.String()
	}
}

// Answered ends the outage, unless the store has failed too recently.
func (o *outage) Answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away.Load() && !(o.flapping && time.Since(o.last) < recoveryTime) {
		o.end()
	}
}

// end logs the outage's duration and the number of undecided operations. The caller holds mu.
func (o *outage) end() {
	o.ended = time.Now()
	o.away.Store(false)
	if !o.told {
		return
	}
	lasted := o.ended.Sub(o.since)
	o.sums.Total += lasted
	o.logger.Info("store back", "away_ms", format.Millis(lasted), "unknown", o.unknown)
}

// state returns the counts of all outages, including the current one.
func (o *outage) state() metrics.Outage {
	o.mu.Lock()
	defer o.mu.Unlock()
	state := o.sums
	if state.Away = o.away.Load() && o.told; state.Away {
		state.For, state.Class = time.Since(o.since), o.class
		state.Total += state.For
	}
	return state
}
