package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// losses logs a line when the store has lost its data, and another when answers are exact again, which is when the
// slowest limit that shares decide has recovered.
type losses struct {
	logger *slog.Logger
	seen   int64
	until  time.Time // zero while answers are exact
}

// look compares the number of losses with the last known number. The function recovery returns how long the active
// limits take to recover.
func (l *losses) look(now time.Time, count int64, recovery func() time.Duration) {
	switch {
	case count > l.seen:
		l.seen, l.until = count, now.Add(recovery())
		l.logger.Error("store data lost: until the limits have recovered, this server's share decides too, except with failure mode allow",
			"losses", count, "until", l.until.UTC().Truncate(time.Second))
	case !l.until.IsZero() && now.After(l.until):
		l.until = time.Time{}
		l.logger.Info("limits have recovered from the data loss: answers are exact again")
	}
}

// followLosses watches for data losses in the store until ctx ends.
func (d *Daemon) followLosses(ctx context.Context) {
	if d.store.Fallback == nil {
		return
	}
	l := losses{logger: d.config.Logger}
	recovery := func() time.Duration {
		_, current, _ := d.policies.InForce()
		return slowest(current.Policies)
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			l.look(time.Now(), d.store.Fallback.Stats().Losses, recovery)
		}
	}
}

// slowest returns the longest recovery time among the limits that shares also decide after a loss: all limits except
// those with the failure mode allow.
func slowest(set *policy.Set) (longest time.Duration) {
	for _, s := range set.Summaries() {
		if s.Failure == policy.Allow.String() || !s.Enabled {
			continue
		}
		limits := s.Limits
		for _, o := range s.Overrides {
			limits = append(limits, o.Limit)
		}
		for _, text := range limits {
			if limit, err := engine.ParseLimit(text); err == nil { // deny and unlimited do not have to recover
				longest = max(longest, time.Duration(engine.Depth(limit))*time.Microsecond)
			}
		}
	}
	return longest
}
