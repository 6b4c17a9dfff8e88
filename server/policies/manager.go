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

	"github.com/headgate/headgate/internal/adminapi"
	"github.com/headgate/headgate/policy"
)

// Config sets up a manager.
type Config struct {
	// File is the path of the policies file; "" is none.
	File string
	// Base is the content of File as it was read to set up the server; nil if File is "".
	Base *policy.Config
	// Changes keeps the changes. The default ends with the process.
	Changes Store
	// Rejected is called when the file has an error and the last one stays in force, and with
	// nil when the file is again what is in force; a nil func is not called.
	Rejected func(err error)
	// Check returns why policies cannot be in force here, such as on this store; nil accepts
	// all. A file, or a change, that it refuses is as one with an error.
	Check func(c *policy.Config) error
	// Apply puts policies in force and returns their generation. Its error is a warning
	// for the log: they are in force all the same.
	Apply func(ctx context.Context, c *policy.Config) (generation uint64, err error)
	// Away tells of an error of Changes that the store did not answer. New starts without
	// the changes then, and they are read when it does. By default all errors are New's.
	Away func(err error) bool
	// ShowKey returns what the log shows of the key of a change. The default is the whole
	// key.
	ShowKey func(key string) string
	// Logger gets the log, and in it an audit line for each change.
	Logger *slog.Logger
	// Now is the clock by which changes expire, the same for all servers that share
	// them. The default is time.Now.
	Now func() time.Time
}

// Manager keeps policies in force. It is safe for concurrent use.
type Manager struct {
	config Config
	woken  chan struct{} // the next expiry is to be computed again

	mu      sync.Mutex
	file    *policy.Config
	made    []policy.Made  // by other configurations than the file
	base    *policy.Config // the file with them
	current *policy.Config // base with the changes in force
	changes []Change       // as the store has them
	unread  bool           // New could not read them
	pending bool           // they are not in force yet
	active  []Change       // in force: not expired, and fitting the file
	broken  map[name]int64 // the versions that do not fit, which have been logged
	refused bool           // the file had an error when it was read last
}

// New puts the policies of the file in force, with the changes of the store on top. If the
// store does not answer, that is an error, unless [Config.Away] says that it is away: until
// the changes are read, the file alone decides.
func New(ctx context.Context, c Config) (*Manager, error) {
	if c.Base == nil {
		c.Base = policy.Empty()
	}
	if c.Check == nil {
		c.Check = func(*policy.Config) error { return nil }
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
	m := &Manager{config: c, file: c.Base, base: c.Base, woken: make(chan struct{}, 1)}
	err := c.Check(m.base)
	if err != nil {
		return nil, err
	}
	if m.changes, _, err = c.Changes.Load(ctx); err != nil {
		if c.Away == nil || !c.Away(err) {
			return nil, err
		}
		m.unread = true
		c.Logger.Warn(unread, "error", err)
	}
	m.apply(ctx, m.base)
	return m, nil
}

// SetMade puts policies in force that another configuration than the file makes, in the place of those
// before.
func (m *Manager) SetMade(ctx context.Context, made []policy.Made) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.EqualFunc(made, m.made, policy.Made.Equal) {
		return
	}
	m.made = made
	m.apply(ctx, m.file.WithMade(made))
}

// Changes returns the changes in force, sorted by policy and key.
func (m *Manager) Changes() []Change {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.active)
}

// Change makes a change, in place of the one of the same policy and key, and puts it in
// force here before it returns. Other servers follow within a second. Policy, Key, Fields,
// Author, Reason, and Expires or For are read; the result has all other fields. The error is a
// [*headgate.InputError] or one of package policy for a change that does not fit, and then
// nothing has changed; [ErrConflict] if another change was made at the same time.
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
	if err := m.load(ctx); err != nil {
		return Change{}, err
	}
	before := m.find(c.name())
	if err := m.try(&c); err != nil {
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
	m.audit(actionChange, &c, before, c.Author, c.Reason)
	return c, m.reload(ctx)
}

// Clear ends the change of a policy, or of a key of it, and says which it was. The error
// is [ErrNoChange] if there is none.
func (m *Manager) Clear(ctx context.Context, policyName, key, author, reason string) (Change, error) {
	now := m.config.Now()
	if err := (&Change{Change: adminapi.Change{Author: author, Reason: reason, Fields: json.RawMessage("{}")}}).check(now); err != nil {
		return Change{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.load(ctx); err != nil {
		return Change{}, err
	}
	before := m.find(name{policyName, key})
	if before == nil {
		return Change{}, ErrNoChange
	}
	cleared := *before
	others, onFile := m.others(cleared.name())
	_, left := m.base.With(onFile)
	if err := m.unfit(others, left); err != nil {
		return Change{}, err
	}
	if err := m.config.Changes.Delete(ctx, cleared); err != nil && !errors.Is(err, errUnannounced) {
		return Change{}, err
	}
	m.audit(actionClear, &cleared, &cleared, author, reason)
	return cleared, m.reload(ctx)
}

// find returns the change of a name that the store has.
func (m *Manager) find(n name) *Change {
	i, found := slices.BinarySearchFunc(m.changes, n, func(c Change, n name) int { return c.name().compare(n) })
	if !found {
		return nil
	}
	return &m.changes[i]
}

// InForce returns the file, the configuration with the changes on top of it, and these
// changes, sorted by policy and key.
func (m *Manager) InForce() (file, current *policy.Config, changes []Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.base, m.current, slices.Clone(m.active)
}

// load reads what other servers have changed.
func (m *Manager) load(ctx context.Context) error {
	changes, same, err := m.config.Changes.Load(ctx)
	if err == nil && !same {
		m.changes, m.pending = changes, true
	}
	m.unread = m.unread && err != nil
	return err
}

// reload puts what the store has now in force.
func (m *Manager) reload(ctx context.Context) error {
	if err := m.load(ctx); err != nil {
		return err
	}
	m.apply(ctx, m.base)
	return nil
}

// apply puts a file with the changes on top in force. Changes that do not fit are left
// out, and logged once.
func (m *Manager) apply(ctx context.Context, base *policy.Config) {
	now := m.config.Now()
	live := make([]Change, 0, len(m.changes))
	for _, c := range m.changes {
		if !c.expired(now) {
			live = append(live, c)
		}
	}
	// In the order in which they were made: a later one was tried on top of the earlier.
	slices.SortStableFunc(live, func(a, b Change) int { return cmp.Compare(a.Version, b.Version) })
	onFile := make([]policy.Change, len(live))
	for i := range live {
		onFile[i] = live[i].onFile()
	}
	config, left := base.With(onFile)
	generation, err := m.config.Apply(ctx, config)
	m.base, m.current, m.active, m.pending = base, config, live[:0:0], false
	known := m.broken
	m.broken = map[name]int64{}
	for i, c := range live {
		if left[i] == nil {
			m.active = append(m.active, c)
			continue
		}
		m.broken[c.name()] = c.Version
		if known[c.name()] != c.Version {
			m.config.Logger.Error("a change does not fit the file, and is left out", "policy", c.Policy, "key", m.config.ShowKey(c.Key),
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

// wake lets Run look at the next expiry again.
func (m *Manager) wake() {
	select {
	case m.woken <- struct{}{}:
	default:
	}
}
