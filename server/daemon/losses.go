package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/policy"
)

// losses logs a line when the store has lost its data, and another when answers are exact again. They are exact when
// all limits that this server's share also decides have recovered, or when an operator has accepted the loss.
type losses struct {
	logger  *slog.Logger
	seen    int64     // how many losses this server has noticed
	last    time.Time // the last loss
	until   time.Time // zero while answers are exact
	doubted atomic.Bool
}

// look updates the state from the fallback layer's statistics, and logs when answers become inexact or exact again.
// The last loss can be older than this server, because another server may have noticed it. The function recovered
// returns when the active limits have recovered from a loss.
func (l *losses) look(now time.Time, stats fallback.Stats, recovered func(lost time.Time) time.Time) {
	noticed, later := stats.Losses > l.seen, stats.Lost.After(l.last)
	begins := noticed || l.until.IsZero() && later
	if !begins && stats.DoubtedUntil.After(now) && stats.DoubtedUntil.After(l.until) {
		l.until = stats.DoubtedUntil // a request had an inline limit that recovers later
	}
	switch {
	case begins:
		until := recovered(stats.Lost)
		if until.Before(stats.DoubtedUntil) {
			until = stats.DoubtedUntil
		}
		if l.seen, l.last = stats.Losses, stats.Lost; !noticed && now.After(until) {
			return
		}
		l.until = until
		l.logger.Error("store data lost: until the limits have recovered, answers are a fallback, and remembered keys keep only the units that they had, except with failure mode allow",
			"losses", stats.Losses, "until", until.UTC().Truncate(time.Second))
	case l.until.IsZero():
	case stats.Lost.IsZero():
		l.until = time.Time{}
		l.logger.Info("an operator has accepted the data loss: answers are exact again")
	case later: // other servers have noticed the loss too
		l.last, l.until = stats.Lost, recovered(stats.Lost)
	case now.After(l.until):
		l.until = time.Time{}
		l.logger.Info("limits have recovered from the data loss: answers are exact again")
	}
	l.doubted.Store(!l.until.IsZero())
}

// followLosses watches for data losses in the store until ctx ends.
func (d *Daemon) followLosses(ctx context.Context) {
	if d.store.Fallback == nil {
		return
	}
	l := &d.losses
	recovered := func(lost time.Time) time.Time {
		_, current, _ := d.policies.InForce()
		return slowest(current.Policies, lost)
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			l.look(time.Now(), d.store.Fallback.Stats(), recovered)
		}
	}
}

// slowest returns when the last of the limits has recovered from a loss. It skips disabled policies, and those whose
// failure mode is lenient, because servers do not remember their keys after a loss.
func slowest(set *policy.Set, lost time.Time) (last time.Time) {
	last = lost
	for _, s := range set.Summaries() {
		if p, _ := set.Get(s.Name); p.Failure.Lenient() || !p.Enabled {
			continue
		}
		limits := s.Limits
		for _, o := range s.Overrides {
			limits = append(limits, o.Limit)
		}
		for _, text := range limits {
			if limit, err := engine.ParseLimit(text); err == nil { // deny and unlimited do not have to recover
				if at := time.UnixMicro(limit.Numbers().RecoversAt(lost.UnixMicro())); at.After(last) {
					last = at
				}
			}
		}
	}
	return last
}

// acceptLoss returns the function with which an operator accepts a loss. It is nil for a store that processes do not
// share.
func (d *Daemon) acceptLoss() func(context.Context) (lost bool, err error) {
	if d.store.Fallback == nil {
		return nil
	}
	return d.store.Fallback.AcceptLoss
}
