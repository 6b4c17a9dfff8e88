package policies

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Store keeps changes. A local store is used by a single [Manager], and a shared store by the managers of all
// servers.
type Store interface {
	// Load returns all changes, sorted by policy and key. same is true if nothing has changed since the last call, in
	// which case changes may be nil.
	Load(ctx context.Context) (changes []Change, same bool, err error)
	// Put stores a change and returns its version. The argument replaces is the version of the change that it
	// replaces, or 0 if there is no change yet. Put returns [ErrConflict] if the stored version differs.
	Put(ctx context.Context, c Change, replaces int64) (version int64, err error)
	// Delete removes a change. It returns [ErrConflict] if the stored version differs from the change's.
	Delete(ctx context.Context, c Change) error
	// Poll returns the interval for checking for other servers' changes. It returns 0 if there are no other servers.
	Poll() time.Duration
}

// memory keeps changes as long as the process lives. The function keep, if set, is called with all changes before a new
// one takes effect, and can reject it.
type memory struct {
	mu      sync.Mutex
	changes map[name]Change
	version int64
	changed bool
	keep    func(changes []Change) error
}

// NewMemory returns a store that lasts as long as the process.
func NewMemory() Store { return &memory{changes: map[name]Change{}, changed: true} }

func (m *memory) Poll() time.Duration { return 0 }

func (m *memory) Load(context.Context) (changes []Change, same bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	same, m.changed = !m.changed, false
	return sorted(m.changes), same, nil
}

func (m *memory) Put(_ context.Context, c Change, replaces int64) (version int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.changes[c.name()]
	if before.Version != replaces {
		return 0, ErrConflict
	}
	if !known && len(m.changes) >= MaxChanges {
		return 0, ErrTooMany
	}
	c.Version = max(m.version+1, c.At.UnixMicro())
	next := maps.Clone(m.changes)
	next[c.name()] = c
	return c.Version, m.replace(next, c.Version)
}

func (m *memory) Delete(_ context.Context, c Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.changes[c.name()]
	if !known || before.Version != c.Version {
		return ErrConflict
	}
	next := maps.Clone(m.changes)
	delete(next, c.name())
	return m.replace(next, m.version)
}

// replace replaces all changes if the function keep accepts them.
func (m *memory) replace(next map[name]Change, version int64) error {
	if m.keep != nil {
		if err := m.keep(sorted(next)); err != nil {
			return err
		}
	}
	m.changes, m.version, m.changed = next, version, true
	return nil
}

func sorted(changes map[name]Change) []Change {
	return slices.SortedFunc(maps.Values(changes), func(a, b Change) int { return a.name().compare(b.name()) })
}
