package daemon

import (
	"context"
	"log/slog"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
)

// MaxLogDenied is the maximum number of log lines for denied requests per second.
const MaxLogDenied = 1000

// denials logs a sample of the denied requests: a limited number per second. The next line reports how many were
// omitted. It implements [service.Observer].
type denials struct {
	lines  lograte.Limit
	logger *slog.Logger
	show   func(key string) string
}

// Observe logs the denied requests of one call, within the limit on lines. It implements [service.Observer].
func (l *denials) Observe(o *service.Observed) {
	for i := range o.Responses {
		if r, answer := &o.Requests[i], &o.Responses[i]; r.Kind.Takes() && answer.Err == nil && !answer.Allowed {
			l.log(o, r, answer, o.Key(i))
		}
	}
}

// log logs one denied request if the limit on lines allows it.
func (l *denials) log(o *service.Observed, r *decide.Request, answer *decide.Response, key string) {
	left, ok := l.lines.Allow(o.Ended)
	if !ok {
		return
	}
	attributes := []slog.Attr{slog.String("frontend", o.FrontEnd.String()), slog.String("policy", answer.Policy)}
	if r.Route != nil && r.Route.NoKey != nil {
		attributes = append(attributes, slog.String("reason", "no_key"), slog.String("part", r.Route.NoKey.Part))
	} else {
		s, reason := answer.Binds(), "limit"
		if answer.Override() {
			reason = "override"
		}
		attributes = append(attributes, slog.String("key", l.show(key)), slog.Int64("limit", s.Limit),
			slog.String("mode", answer.Promise.Mode.String()), slog.String("reason", reason))
		if s.RetryAfter != engine.Never {
			attributes = append(attributes, slog.Int64("retry_after_ms", format.Millis(s.RetryAfter)))
		}
	}
	if id := requestid.From(o.Context); id != "" {
		attributes = append(attributes, slog.String("request_id", id))
	}
	l.logger.LogAttrs(context.Background(), slog.LevelInfo, "denied", append(attributes, slog.Int64("not_logged", left))...)
}
