package policies

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/adminapi"
)

// Config configures a manager.
type Config struct {
	// File is the path of the policies file. It is "" if none exists.
	File string
	// Base is the content of File as it was read to set up the server, or nil if File is "".
	Base *policy.Config
	// Gateway is true if routes in File may charge concurrency policies: see [policy.Reader].
	Gateway bool
	// Changes stores the changes. The default store lasts as long as the process.
	Changes Store
	// Rejected is called with an error when the file is invalid and the previous one stays active, and with nil when
	// the file is valid again. It can be nil.
	Rejected func(err error)
	// Apply activates policies and returns their generation. Its error is only logged as a warning, because the
	// policies are active anyway.
	Apply func(ctx context.Context, c *policy.Config) (generation uint64, err error)
	// External is true if SetExternal will add policies from a source other than the file before the server accepts requests.
	// Until then a change that does not fit the file is not logged, because it can be a change to one of these policies.
	External bool
	// ShowKey returns a change's key as it appears in the log. By default the whole key is shown.
	ShowKey func(key string) string
	// Logger is the log. It receives an audit line for each change.
	Logger *slog.Logger
	// Now is the clock for the expiry of changes. All servers that share changes must use the same clock. The default
	// is time.Now.
	Now func() time.Time
}

// Manager manages the active policies. It is safe for concurrent use.
type Manager struct {
	config Config
	woken  chan struct{} // wakes Run to recompute the next expiry

	mu       sync.Mutex
	file     *policy.Config
	external []policy.External // policies from other sources than the file
	base     *policy.Config    // the file together with external
	current  *policy.Config    // base with the active changes on top
	changes  []Change          // as stored
	awaited  bool              // SetExternal has not been called yet, and Config.External announces it
	unread   bool              // New could not read the changes
	pending  bool              // the changes are not active yet
	active   []Change          // not expired, and compatible with the file
	ignored  []Change          // not expired, and incompatible
	broken   map[name]int64    // versions of incompatible changes that have been logged
	refused  bool              // the file was invalid when it was last read
}

// New activates the file's policies with the store's changes on top. If the store is away ([engine.Away]), only the file
// applies until the changes have been read.
func New(ctx context.Context, c Config) (*Manager, error) {
	if c.Base == nil {
		c.Base = policy.Empty()
	}
	if c.Changes == nil {
		c.Changes = NewMemory()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.ShowKey == nil {
		c.ShowKey = func(key string) string { return key }
	}
	m := &Manager{config: c, file: c.Base, base: c.Base, awaited: c.External, woken: make(chan struct{}, 1)}
	var err error
	if m.changes, _, err = c.Changes.Load(ctx); err != nil {
		if !engine.Away(err) {
			return nil, err
		}
		m.unread = true
		c.Logger.Warn(unread, "error", err)
	}
	m.apply(ctx, m.base)
	return m, nil
}

// SetExternal activates policies that come from a source other than the file. They replace the policies from the previous
// call.
func (m *Manager) SetExternal(ctx context.Context, external []policy.External) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.EqualFunc(external, m.external, policy.External.Equal) && !m.awaited {
		return
	}
	m.external, m.awaited = external, false
	m.apply(ctx, m.file.WithExternal(external))
}

// Changes returns the active changes, sorted by policy and key.
func (m *Manager) Changes() []Change {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.active)
}

// Change makes a change, replacing any earlier change to the same policy and key. It activates the change on this
// server before it returns; other servers follow within a second. It uses the fields Policy, Key, Fields, Author,
// User, Reason, and Expires or For, and returns the change with all fields set. If the change is invalid, nothing changes,
// and the error is an [*engine.InputError] or an error from package policy. It is [ErrConflict] if another change was
// made at the same time. A change for a policy inside a policy with "all", such as both/api, is a change for that policy.
func (m *Manager) Change(ctx context.Context, c Change) (Change, error) {
	now := m.config.Now()
	c.At, c.Version = now.UTC().Truncate(time.Microsecond), 0
	if c.For > 0 {
		c.Expires, c.For = now.UTC().Add(c.For).Truncate(time.Second), 0
	}
	if err := c.check(now); err != nil {
		return Change{}, err
	}
	c.Fields = slices.Clone(c.Fields)
	if compact, err := json.Marshal(c.Fields); err == nil {
		c.Fields = compact
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.follow(ctx); err != nil {
		return Change{}, err
	}
	c.Policy = m.current.Policies.OverrideTarget(c.Policy)
	before := m.find(c.name())
	c.Before = m.describe(&c)
	if _, err := m.with(&c); err != nil {
		return Change{}, err
	}
	replaces := int64(0)
	if before != nil {
		replaces = before.Version
	}
	version, err := m.config.Changes.Put(ctx, c, replaces)
	if err != nil && !errors.Is(err, errUnannounced) {
		return Change{}, err
	}
	if err != nil {
		m.config.Logger.Warn("policies", "error", err)
	}
	c.Version = version
	err = m.reload(ctx)
	c.After = m.describe(&c)
	m.audit(actionChange, &c, before, c.by())
	return c, err
}

// Clear ends the change to a policy, or to a key under it, and returns the change. It returns [ErrNoChange] if there
// is no such change.
func (m *Manager) Clear(ctx context.Context, policyName, key string, by By) (Change, error) {
	now := m.config.Now()
	if err := (&Change{Change: adminapi.Change{Author: by.Author, Reason: by.Reason, Fields: json.RawMessage("{}")}}).check(now); err != nil {
		return Change{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.follow(ctx); err != nil {
		return Change{}, err
	}
	before := m.find(name{policyName, key})
	if before == nil {
		before = m.find(name{m.current.Policies.OverrideTarget(policyName), key})
	}
	if before == nil {
		return Change{}, ErrNoChange
	}
	cleared := *before
	cleared.Before = m.describe(&cleared)
	others, onFile := m.others(cleared.name())
	_, left := m.base.With(onFile)
	if err := m.unfit(others, left); err != nil {
		return Change{}, err
	}
	if err := m.config.Changes.Delete(ctx, cleared); err != nil && !errors.Is(err, errUnannounced) {
		return Change{}, err
	}
	err := m.reload(ctx)
	cleared.After = m.describe(&cleared)
	m.audit(actionClear, &cleared, &cleared, by)
	return cleared, err
}

// find returns the stored change with the given name, or nil if no such change exists.
func (m *Manager) find(n name) *Change {
	i, found := slices.BinarySearchFunc(m.changes, n, func(c Change, n name) int { return c.name().compare(n) })
	if !found {
		return nil
	}
	return &m.changes[i]
}

// InForce returns the base configuration, the current configuration, and the changes. The base configuration contains
// the policies of the file and those from SetExternal. The current one also contains the changes that fit them; the
// others are Ignored.
func (m *Manager) InForce() (file, current *policy.Config, changes []Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.base, m.current, slices.Concat(m.active, m.ignored)
}

// load reads other servers' changes.
func (m *Manager) load(ctx context.Context) error {
	changes, same, err := m.config.Changes.Load(ctx)
	if err == nil && !same {
		m.changes, m.pending = changes, true
	}
	m.unread = m.unread && err != nil
	return err
}

// follow reads and activates other servers' changes.
func (m *Manager) follow(ctx context.Context) error {
	err := m.load(ctx)
	if err == nil && m.pending {
		m.apply(ctx, m.base)
	}
	return err
}

// reload activates the store's current changes.
func (m *Manager) reload(ctx context.Context) error {
	if err := m.load(ctx); err != nil {
		return err
	}
	m.apply(ctx, m.base)
	return nil
}

// apply activates a file with the changes on top. It omits incompatible changes, and logs each of them only once.
func (m *Manager) apply(ctx context.Context, base *policy.Config) {
	now := m.config.Now()
	live := make([]Change, 0, len(m.changes))
	for _, c := range m.changes {
		if !c.expired(now) {
			live = append(live, c)
		}
	}
	// Changes are applied in the order of creation, because a later change was tried on top of the earlier ones.
	slices.SortStableFunc(live, func(a, b Change) int { return cmp.Compare(a.Version, b.Version) })
	onFile := make([]policy.Change, len(live))
	for i := range live {
		onFile[i] = live[i].onFile()
	}
	config, left := base.With(onFile)
	generation, err := m.config.Apply(ctx, config)
	m.base, m.current, m.active, m.ignored, m.pending = base, config, live[:0:0], nil, false
	known := m.broken
	m.broken = map[name]int64{}
	for i, c := range live {
		if left[i] == nil {
			m.active = append(m.active, c)
			continue
		}
		c.Ignored = left[i]
		m.ignored = append(m.ignored, c)
		if m.awaited {
			continue
		}
		m.broken[c.name()] = c.Version
		if known[c.name()] != c.Version {
			m.config.Logger.Error("change does not fit the policies file: ignored", "policy", c.Policy, "key", m.config.ShowKey(c.Key),
				"author", c.Author, "version", c.Version, "error", left[i])
		}
	}
	slices.SortFunc(m.active, func(a, b Change) int { return a.name().compare(b.name()) })
	m.config.Logger.Info("policies in force", "generation", generation, "policies", len(config.Policies.Names()), "changes", len(m.active))
	if err != nil {
		m.config.Logger.Warn("policies", "warning", err)
	}
	m.wake()
}

// wake makes Run recompute the next expiry.
func (m *Manager) wake() {
	select {
	case m.woken <- struct{}{}:
	default:
	}
}
