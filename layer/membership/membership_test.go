package membership_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/memstore"
)

func store(t *testing.T) *memstore.Store {
	t.Helper()
	s, err := memstore.New(memstore.Config{MaxKeys: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func member(t *testing.T, coordinator engine.Coordinator, c membership.Config) *membership.Member {
	t.Helper()
	m, err := membership.New(coordinator, c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func beat(t *testing.T, m *membership.Member) {
	t.Helper()
	if err := m.Beat(t.Context()); err != nil {
		t.Error(err)
	}
}

// counted is a coordinator that counts beats, and can be made unavailable.
type counted struct {
	*memstore.Store
	beats atomic.Int64
	away  atomic.Bool
}

func (c *counted) Beat(ctx context.Context, group, member string, life time.Duration) ([]string, error) {
	if c.away.Load() {
		return nil, engine.ErrStoreUnavailable
	}
	c.beats.Add(1)
	return c.Store.Beat(ctx, group, member, life)
}

// Two users of a member share its beats, which continue until both have stopped. At that time the member leaves the
// group.
func TestTwoUsersBeatOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{Store: store(t)}
		other, m := member(t, s.Store, membership.Config{}), member(t, s, membership.Config{})
		defer other.Start(nil)()
		first := m.Start(nil)
		time.Sleep(1500 * time.Millisecond)
		var heard atomic.Int64
		second := m.Start(func(number int) { heard.Store(int64(number)) })
		if heard.Load() != 2 {
			t.Errorf("the second user hears %d at once, want 2", heard.Load())
		}
		time.Sleep(9 * time.Second)
		if n := s.beats.Load(); n != 11 {
			t.Errorf("%d beats in 10.5 s, want 11", n)
		}
		first()
		first() // a second call, which does not stop the other user's beats
		time.Sleep(5 * time.Second)
		if n := s.beats.Load(); n != 16 {
			t.Errorf("%d beats in 15.5 s, want 16: the second user has not stopped", n)
		}
		second()
		time.Sleep(5 * time.Second)
		if n, count := s.beats.Load(), other.Count(); n != 16 || count.Number != 1 {
			t.Errorf("after both have stopped: %d beats, and the other member counts %d", n, count.Number)
		}
		again := time.Now()
		defer m.Start(nil)()
		synctest.Wait()
		if count := m.Count(); !count.Since.Equal(again) || count.Number != 2 {
			t.Errorf("joined again: %+v, want since %s", count, again)
		}
	})
}

// A process that was cut off for a whole Life comes back as a new member. A process that comes back earlier does not.
func TestRejoinsAfterItsLife(t *testing.T) {
	for _, c := range []struct {
		away time.Duration
		same bool
	}{{membership.Life - 2*membership.Interval, true}, {membership.Life, false}} {
		synctest.Test(t, func(t *testing.T) {
			s := &counted{Store: store(t)}
			m := member(t, s, membership.Config{})
			defer m.Start(nil)()
			time.Sleep(10500 * time.Millisecond)
			before := m.Count()
			s.away.Store(true)
			time.Sleep(c.away)
			if away := m.Count(); away != before {
				t.Errorf("%s without an answer: %+v, was %+v", c.away, away, before)
			}
			s.away.Store(false)
			time.Sleep(membership.Interval)
			if back := m.Count(); back.Since.Equal(before.Since) != c.same || time.Since(back.Sent) > membership.Interval {
				t.Errorf("%s without an answer, and back: %+v, was %+v", c.away, back, before)
			}
		})
	}
}

// If the group is full, a process is not a member. It knows that there are many processes, but never counts as one of
// them.
func TestFullGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store(t)
		for i := range engine.MaxMembers {
			if _, err := s.Beat(t.Context(), membership.DefaultGroup, fmt.Sprint(i), time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		m := member(t, s, membership.Config{})
		var heard atomic.Int64
		defer m.Start(func(number int) { heard.Store(int64(number)) })()
		time.Sleep(5 * time.Second)
		if n, count := heard.Load(), m.Count(); n != engine.MaxMembers || count != (membership.Count{}) {
			t.Errorf("heard %d, %+v", n, count)
		}
	})
}

// Each process lists all processes by name. Processes with the same configured name get unique names.
func TestMembersAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store(t)
		var all []*membership.Member
		for range 2 {
			m := member(t, s, membership.Config{Name: "host/7"})
			defer m.Start(nil)()
			all = append(all, m)
		}
		time.Sleep(3 * time.Second)
		first, members := all[0].Members()
		second, same := all[1].Members()
		if first == second || !strings.HasPrefix(first, "host/7/") || !strings.HasPrefix(second, "host/7/") || len(members) != 2 || !slices.Equal(members, same) ||
			!slices.Contains(members, first) || !slices.Contains(members, second) {
			t.Errorf("%s and %s: %v, %v", first, second, members, same)
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	for field, c := range map[string]membership.Config{
		"markers": {Markers: 65}, "group": {Group: strings.Repeat("g", 241)}, "name": {Name: strings.Repeat("n", 201)},
	} {
		var bad *engine.InputError
		if _, err := membership.New(nil, c); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%+v: %v, want an InputError about %s", c, err, field)
		}
	}
}
