package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

var _ engine.Coordinator = (*Store)(nil)

// maxNames bounds the number of groups and of values. A call that would exceed a bound returns ErrFull.
const maxNames = 10_000

// coordinator holds the groups and values of the [engine.Coordinator] methods.
type coordinator struct {
	mu     sync.Mutex
	groups map[string]map[string]int64 // member → when its membership expires
	values map[string]value
}

type value struct {
	text    string
	version int64
}

func (c *coordinator) start() {
	c.groups, c.values = map[string]map[string]int64{}, map[string]value{}
}

// Beat keeps a member alive. See [engine.Coordinator].
func (s *Store) Beat(ctx context.Context, group, member string, life time.Duration) ([]string, error) {
	if err := s.coordinates(ctx, engine.CheckName("group", group), engine.CheckName("member", member), engine.CheckLife(life)); err != nil {
		return nil, err
	}
	c := &s.coordinator
	c.mu.Lock()
	defer c.mu.Unlock()
	now := s.clock.read(false).Now
	members := c.living(group, now)
	if members == nil {
		if len(c.groups) >= maxNames {
			return nil, ErrFull
		}
		members = map[string]int64{}
		c.groups[group] = members
	}
	if _, known := members[member]; !known && len(members) >= engine.MaxMembers {
		return nil, engine.ErrGroupFull
	}
	members[member] = now + life.Microseconds()
	return slices.Sorted(maps.Keys(members)), nil
}

// living removes expired members and returns the group. It returns nil if the group is empty.
func (c *coordinator) living(group string, now int64) map[string]int64 {
	members := c.groups[group]
	for name, ends := range members {
		if ends <= now {
			delete(members, name)
		}
	}
	if len(members) == 0 {
		delete(c.groups, group)
		return nil
	}
	return members
}

// Leave removes a member. See [engine.Coordinator].
func (s *Store) Leave(ctx context.Context, group, member string) error {
	if err := s.coordinates(ctx, engine.CheckName("group", group), engine.CheckName("member", member)); err != nil {
		return err
	}
	s.coordinator.mu.Lock()
	defer s.coordinator.mu.Unlock()
	delete(s.coordinator.groups[group], member)
	s.coordinator.living(group, s.clock.read(false).Now)
	return nil
}

// Get returns a value. See [engine.Coordinator].
func (s *Store) Get(ctx context.Context, name string) (string, int64, error) {
	if err := s.coordinates(ctx, engine.CheckName("name", name)); err != nil {
		return "", 0, err
	}
	s.coordinator.mu.Lock()
	defer s.coordinator.mu.Unlock()
	v := s.coordinator.values[name]
	return v.text, v.version, nil
}

// CompareAndSet stores a value. See [engine.Coordinator].
func (s *Store) CompareAndSet(ctx context.Context, name string, version int64, text string) (int64, bool, error) {
	if err := s.coordinates(ctx, engine.CheckName("name", name), engine.CheckBytes("value", len(text), engine.MaxValueBytes)); err != nil {
		return 0, false, err
	}
	c := &s.coordinator
	c.mu.Lock()
	defer c.mu.Unlock()
	v, known := c.values[name]
	if v.version != version {
		return v.version, false, nil
	}
	if !known && len(c.values) >= maxNames {
		return 0, false, ErrFull
	}
	v = value{text: text, version: max(v.version+1, s.clock.read(false).Now)}
	c.values[name] = v
	return v.version, true, nil
}

// coordinates returns the first non-nil error of checks. If all of them are nil, it returns the reason why the store
// cannot be used now, or nil.
func (s *Store) coordinates(ctx context.Context, checks ...error) error {
	if err := cmp.Or(checks...); err != nil {
		return err
	}
	return s.ready(ctx)
}
