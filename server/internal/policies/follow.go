package policies

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/headgate/headgate/policy"
)

// storeTimeout bounds one check for other servers' changes.
const storeTimeout = 2 * time.Second

// unreadPoll is the interval for retrying to read changes that New could not read.
const unreadPoll = 100 * time.Millisecond

// unread is the log message for a store that does not answer, so that changes made by other servers are unknown.
const unread = "changes of other servers cannot be read; the policies stay as they are"

// Run follows other servers' changes and the expiry of changes until ctx ends. It reads the store whenever other
// servers may have changed it, and at the next expiry. While the store does not answer, the policies stay unchanged.
func (m *Manager) Run(ctx context.Context) {
	poll := m.config.Changes.Poll()
	m.mu.Lock()
	away := m.unread
	m.mu.Unlock()
	for {
		timer := time.NewTimer(m.untilNext(poll))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-m.woken:
			timer.Stop()
			continue
		case <-timer.C:
		}
		err := m.look(ctx)
		if failed := err != nil && ctx.Err() == nil; failed != away {
			if away = failed; failed {
				m.config.Logger.Warn(unread, "error", err)
			} else {
				m.config.Logger.Info("reading changes from other servers again")
			}
		}
	}
}

// untilNext returns the time until the next call of look: until the next poll of the store, the next expiry of a
// change or the next retry, whichever comes first. It is at most an hour if the store is not polled.
func (m *Manager) untilNext(poll time.Duration) time.Duration {
	const seldom = time.Hour
	next := seldom
	if poll > 0 {
		next = poll
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unread {
		next = unreadPoll
	}
	now := m.config.Now()
	for i := range m.changes {
		switch c := &m.changes[i]; {
		case c.Expires.IsZero():
		case c.expired(now): // it is still listed because clearing it has failed
			next = min(next, pollShared)
		default:
			next = min(next, max(time.Millisecond, c.Expires.Sub(now)))
		}
	}
	return next
}

// look activates other servers' changes, and ends expired changes.
func (m *Manager) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.load(ctx)
	now, before := m.config.Now(), m.current
	if m.pending || slices.ContainsFunc(m.active, func(c Change) bool { return c.expired(now) }) {
		m.apply(ctx, m.base)
	}
	m.clearExpired(ctx, now, before)
	return err
}

// clearExpired ends the changes that have expired, including those that expired while no server was running. If
// clearing fails, it is retried. If there are several servers, only one clears a change. The argument before is the
// previous configuration.
func (m *Manager) clearExpired(ctx context.Context, now time.Time, before *policy.Config) {
	left := make([]Change, 0, len(m.changes))
	for _, c := range m.changes {
		if !c.expired(now) {
			left = append(left, c)
			continue
		}
		switch err := m.config.Changes.Delete(ctx, c); {
		case err == nil, errors.Is(err, errUnannounced):
			c.Before, c.After = Describe(before, c.Policy, c.Key), m.describe(&c)
			m.audit(actionExpire, &c, &c, c.by())
		case !errors.Is(err, ErrConflict): // the store is unavailable
			left = append(left, c)
		}
	}
	m.changes = left
}
