package policies

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/yamlfile"
)

// Try returns the active configuration, and the configuration that would result from a change, without making the
// change. It returns the same errors as [Manager.Change].
func (m *Manager) Try(ctx context.Context, c Change) (before, after *policy.Config, err error) {
	now := m.config.Now()
	if c.Author == "" {
		c.Author = "trial" // a change needs an author; this one is not stored
	}
	if err := c.check(now); err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.load(ctx); err != nil {
		return nil, nil, err
	}
	c.Policy = m.current.Policies.OverrideTarget(c.Policy)
	after, err = m.with(&c)
	return m.current, after, err
}

// with returns the configuration with a change on top of the file and the other changes. It returns an error if the
// change conflicts with them.
func (m *Manager) with(c *Change) (*policy.Config, error) {
	others, onFile := m.others(c.name())
	// The new change is tried last, so that it is not blamed for an older incompatible change.
	config, left := m.base.With(append(onFile, c.onFile()))
	if err := left[len(others)]; err != nil {
		return config, cmp.Or(noPolicy(config, c), err)
	}
	return config, m.unfit(others, left)
}

// noPolicy returns an error if a change for a key names a policy that does not exist. The policy may come from a
// source other than the file, so the error does not mention a file.
func noPolicy(config *policy.Config, c *Change) error {
	name, _, _ := strings.Cut(c.Policy, "/")
	if _, ok := config.Policies.Get(name); c.Key == "" || ok {
		return nil
	}
	return &engine.InputError{
		Field: "policy", Value: strconv.Quote(name),
		Accepted: "a policy that headgate policy list prints", Meant: yamlfile.Nearest(name, config.Policies.Names()),
	}
}

// others returns the changes that have not expired, except the one named but. The second result holds the same changes
// for package policy.
func (m *Manager) others(but name) (others []*Change, onFile []policy.Change) {
	now := m.config.Now()
	for i := range m.changes {
		if other := &m.changes[i]; !other.expired(now) && other.name() != but {
			others, onFile = append(others, other), append(onFile, other.onFile())
		}
	}
	return others, onFile
}

// unfit returns an error if the new change would make one of the other changes incompatible with the configuration.
func (m *Manager) unfit(others []*Change, left map[int]error) error {
	for i, other := range others {
		if left[i] != nil && m.broken[other.name()] != other.Version {
			shown := policy.Change{Policy: other.Policy, Key: m.config.ShowKey(other.Key)}
			if other.Key == "" {
				shown.Key = ""
			}
			return fmt.Errorf("the change of %s would not fit any more; clear it first: %w", shown.String(), left[i])
		}
	}
	return nil
}
