package policies

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate/internal/errcode"
	"github.com/headgate/headgate/policy"
)

// Reload reads the file again and activates it as a whole. If the file is invalid, the previous one stays active, and
// the error is logged and returned.
func (m *Manager) Reload(ctx context.Context) error {
	if m.config.File == "" {
		return errors.New("there is no policies file to reload: --config names one")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next, err := policy.Reader{Pause: pausing(time.Now, time.Sleep), Gateway: m.config.Gateway}.Reload(m.config.File, m.file)
	if err != nil {
		m.config.Logger.Error("policies file has errors: the last good version stays in force", "file", m.config.File, "error", err, "see", errcode.Link(errcode.InvalidFile))
		m.refuse(err)
		return err
	}
	restored := m.refused
	if restored {
		m.refuse(nil)
	}
	if next == m.file || next.Equal(m.file) {
		if restored {
			m.config.Logger.Info("policies file has no more errors: it equals the version in force", "file", m.config.File)
		}
		return nil
	}
	before := m.file
	m.file = next
	m.apply(ctx, next.WithExternal(m.external))
	for i := range m.active {
		if c := &m.active[i]; !next.EqualTarget(before, c.Policy, c.Key) {
			m.config.Logger.Warn("edit of the policies file has no effect: an operator's change is in force", "policy", c.Policy, "key", m.config.ShowKey(c.Key),
				"author", c.Author, "user", c.User, "reason", c.Reason, "version", c.Version)
		}
	}
	for _, setting := range next.Restart(before) {
		m.config.Logger.Warn("setting takes effect only after a restart", "setting", setting)
	}
	return nil
}

// refuse records the file's error. The error is nil if the file is valid.
func (m *Manager) refuse(err error) {
	m.refused = err != nil
	if m.config.Rejected != nil {
		m.config.Rejected(err)
	}
}
