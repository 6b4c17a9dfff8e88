package membership_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/memstore"
)

// interrupted is a coordinator that runs a function after each read.
type interrupted struct {
	*memstore.Store
	after func()
}

func (c *interrupted) Get(ctx context.Context, name string) (text string, version int64, err error) {
	text, version, err = c.Store.Get(ctx, name)
	after := c.after
	c.after = func() {}
	after()
	return text, version, err
}

// A beat and a lane's probe may check the markers at the same time. If one of them has incremented a marker, the other
// must not mistake this for a loss.
func TestTwoReadsAreNotALoss(t *testing.T) {
	coordinator := &interrupted{Store: store(t), after: func() {}}
	m := member(t, coordinator, membership.Config{})
	for range 3 {
		for range 3 {
			if err := m.Beat(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		coordinator.after = func() {
			if err := m.Beat(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := m.Beat(t.Context()); err != nil || m.Losses() > 0 || m.Lost() != 0 {
			t.Fatalf("%d losses, %v; want none", m.Losses(), err)
		}
	}
}

// If another process creates the marker at the same time, this process knows the marker after its first beat, so it
// notices a loss that happens before its second beat.
func TestMarkerCreatedByAnother(t *testing.T) {
	s := &interrupted{Store: store(t)}
	other := member(t, s, membership.Config{})
	s.after = func() { s.after = func() {}; beat(t, other) }
	m := member(t, s, membership.Config{})
	beat(t, m)
	s.Store = store(t)
	beat(t, other)
	if beat(t, m); m.Losses() != 1 || m.Lost() == 0 {
		t.Errorf("%d losses, want 1", m.Losses())
	}
}

// Whatever data the store contains when it comes back, every member notices the loss, and counts as a new member from
// then on.
func TestLossMakesNewMembers(t *testing.T) {
	for name, spoil := range map[string]func(text string) string{
		"empty":  func(string) string { return "" },
		"older":  func(text string) string { return text },
		"remade": func(string) string { return "other 1000000" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &interrupted{Store: store(t), after: func() {}}
				all := []*membership.Member{member(t, s, membership.Config{}), member(t, s, membership.Config{})}
				beats := func() {
					for _, m := range all {
						beat(t, m)
					}
					time.Sleep(membership.Interval)
				}
				beats()
				text, _, err := s.Store.Get(t.Context(), membership.DefaultGroup)
				if err != nil {
					t.Fatal(err)
				}
				beats()
				joined := all[0].Count().Since
				if beats(); !all[0].Count().Since.Equal(joined) || all[1].Count().Number != 2 {
					t.Fatalf("%+v, %+v", all[0].Count(), all[1].Count())
				}
				s.Store = store(t)
				if text = spoil(text); text != "" {
					if _, _, err := s.CompareAndSet(t.Context(), membership.DefaultGroup, 0, text); err != nil {
						t.Fatal(err)
					}
				}
				lost := time.Now()
				beats()
				for i, m := range all {
					if m.Losses() != 1 || m.Lost() != lost.UnixMicro() || m.Count().Since.Before(lost) {
						t.Errorf("member %d: %d losses, at %d, since %s; want one, and since %s", i, m.Losses(), m.Lost(), m.Count().Since, lost)
					}
				}
				if beats(); all[0].Losses() != 1 || !all[0].Count().Since.Equal(lost) {
					t.Errorf("a beat later: %d losses, since %s", all[0].Losses(), all[0].Count().Since)
				}
			})
		})
	}
}

// A process that starts after a loss reads the record in the store, until an operator accepts the loss.
func TestLossOutlivesProcesses(t *testing.T) {
	s := &interrupted{Store: store(t), after: func() {}}
	m := member(t, s, membership.Config{})
	beat(t, m)
	s.Store = store(t)
	beat(t, m)
	late := member(t, s, membership.Config{})
	if beat(t, late); m.Lost() == 0 || late.Lost() != m.Lost() || late.Losses() != 0 {
		t.Errorf("lost at %d; a later process says at %d, and %d losses", m.Lost(), late.Lost(), late.Losses())
	}
	for _, want := range []bool{true, false} {
		if lost, err := membership.AcceptLoss(t.Context(), s, ""); err != nil || lost != want {
			t.Fatal(lost, err)
		}
	}
	beat(t, m)
	if beat(t, late); m.Lost() != 0 || late.Lost() != 0 {
		t.Errorf("accepted: lost at %d and %d", m.Lost(), late.Lost())
	}
}

// TestLossByAnotherClock checks that the clock of the process that notices a loss does not shorten the recovery in the
// other processes.
func TestLossByAnotherClock(t *testing.T) {
	s := &interrupted{Store: store(t), after: func() {}}
	ahead := func() time.Time { return time.Now().Add(2 * time.Hour) }
	lagging, m := member(t, s, membership.Config{}), member(t, s, membership.Config{Clock: ahead})
	beat(t, lagging)
	beat(t, m)
	s.Store = store(t)
	noticed := ahead()
	beat(t, m)
	beat(t, lagging) // writes the note after m
	if beat(t, m); time.UnixMicro(m.Lost()).Before(noticed.Truncate(time.Microsecond)) {
		t.Errorf("lost at %s, by its clock at %s or later", time.UnixMicro(m.Lost()), noticed)
	}
}

// A loss whose record could not be written is recorded by a later beat. Otherwise a process that starts later would trust
// the store (regression: bug 156).
func TestLossIsRecordedLater(t *testing.T) {
	s := &interrupted{Store: store(t), after: func() {}}
	refusing := &unrecorded{interrupted: s}
	m := member(t, refusing, membership.Config{})
	beat(t, m)
	s.Store = store(t)
	refusing.refuses = true
	beat(t, m)
	refusing.refuses = false
	late := member(t, s, membership.Config{})
	if beat(t, late); late.Lost() != 0 {
		t.Fatal("the loss was recorded although the write failed")
	}
	beat(t, m)
	if beat(t, late); m.Losses() != 1 || late.Lost() < m.Lost() {
		t.Errorf("%d losses, at %d; a later process says at %d", m.Losses(), m.Lost(), late.Lost())
	}
}

// unrecorded is a coordinator that can refuse the record of a loss.
type unrecorded struct {
	*interrupted

	refuses bool
}

func (c *unrecorded) CompareAndSet(ctx context.Context, name string, version int64, text string) (int64, bool, error) {
	if c.refuses && strings.HasSuffix(name, "/loss") {
		return 0, false, engine.ErrStoreUnavailable
	}
	return c.Store.CompareAndSet(ctx, name, version, text)
}
