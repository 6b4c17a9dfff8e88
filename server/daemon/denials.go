package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/server/requestid"
	"github.com/headgate/headgate/server/service"
)

// MaxLogDenied is the highest rate of lines for denied requests, in lines per second.
const MaxLogDenied = 1000

// denials logs a sample of the denied requests: at most so many in a second, with how many
// others there were. It implements [service.Observer].
type denials struct {
	logger *slog.Logger
	most   int
	show   func(key string) string

	mu    sync.Mutex
	since time.Time
	lines int
	left  int64
}

// Observe logs the denied takes of one call.
func (l *denials) Observe(o *service.Observed) {
	for i := range o.Responses {
		if r, answer := &o.Requests[i], &o.Responses[i]; r.Kind.Takes() && answer.Err == nil && !answer.Decision.Allowed {
			l.log(o, answer.Policy, o.Key(i), &answer.Decision)
		}
	}
	for i := range o.Results {
		kind, result := o.Ops[i].Kind, &o.Results[i]
		if kind.Takes() && result.Err == nil && !result.Decision.Allowed {
			l.log(o, "", o.Key(i), &result.Decision)
		}
	}
}

func (l *denials) log(o *service.Observed, policy, key string, d *headgate.Decision) {
	l.mu.Lock()
	if o.Ended.Sub(l.since) >= time.Second {
		l.since, l.lines = o.Ended, 0
	}
	if l.lines >= l.most {
		l.left++
		l.mu.Unlock()
		return
	}
	l.lines++
	left := l.left
	l.left = 0
	l.mu.Unlock()
	attributes := []slog.Attr{
		slog.String("frontend", o.FrontEnd.String()), slog.String("policy", policy), slog.String("key", l.show(key)),
		slog.Int64("limit", d.Limit), slog.String("mode", d.Promise.Mode.String()),
	}
	if id := requestid.From(o.Context); id != "" {
		attributes = append(attributes, slog.String("request_id", id))
	}
	if d.RetryAfter == headgate.Never {
		attributes = append(attributes, slog.String("retry_after", "never"))
	} else {
		attributes = append(attributes, slog.Duration("retry_after", d.RetryAfter))
	}
	l.logger.LogAttrs(context.Background(), slog.LevelInfo, "denied", append(attributes, slog.Int64("not_logged", left))...)
}
