package policies

import (
	"context"
	"errors"
	"slices"
	"time"
)

// storeTimeout bounds one look at what other servers have changed.
const storeTimeout = 2 * time.Second

// unreadPoll is how often changes that New could not read are asked for.
const unreadPoll = 100 * time.Millisecond

// unread is the log line of changes that a store which does not answer may have.
const unread = "changes of other servers cannot be read; the policies stay as they are"

// Run follows the changes of other servers, and the ends of changes, until ctx ends: it looks at the store
// whenever it may have changed, and at the next expiry. A store that does not answer leaves everything as it is.
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
				m.config.Logger.Info("changes of other servers are read again")
			}
		}
	}
}

// untilNext returns how long until something can have changed.
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
		case c.expired(now): // it could not be cleared
			next = min(next, pollShared)
		default:
			next = min(next, max(time.Millisecond, c.Expires.Sub(now)))
		}
	}
	return next
}

// look puts in force what other servers have changed, and ends the changes that have
// expired.
func (m *Manager) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.load(ctx)
	now := m.config.Now()
	if m.pending || slices.ContainsFunc(m.active, func(c Change) bool { return c.expired(now) }) {
		m.apply(ctx, m.base)
	}
	m.clearExpired(ctx, now)
	return err
}

// clearExpired ends the changes that have expired, also while no server ran. One that cannot be
// cleared is tried again. Of several servers, one clears it.
func (m *Manager) clearExpired(ctx context.Context, now time.Time) {
	left := make([]Change, 0, len(m.changes))
	for _, c := range m.changes {
		if !c.expired(now) {
			left = append(left, c)
			continue
		}
		switch err := m.config.Changes.Delete(ctx, c); {
		case err == nil, errors.Is(err, errUnannounced):
			m.audit(actionExpire, &c, &c, c.Author, c.Reason)
		case !errors.Is(err, ErrConflict): // the store is away
			left = append(left, c)
		}
	}
	m.changes = left
}
