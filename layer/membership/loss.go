package membership

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
)

// marker is a value in the store that the processes increment about once per interval. In a store that comes back
// empty, the marker is missing. In a store with older data, its count is smaller. If another process has recreated it,
// its id is different.
//
// The loss of less than one interval's charges goes unnoticed.
type marker struct {
	id    string
	count int64
}

func (m marker) String() string { return m.id + " " + strconv.FormatInt(m.count, 10) }

// Lost returns the instant when the store last lost data, in µs since 1970. It returns 0 if no loss is known. Another
// process may have noticed the loss. After [AcceptLoss], Lost returns 0 again.
func (m *Member) Lost() int64 { return m.lost.Load() }

// Losses returns the number of losses that this process has noticed.
func (m *Member) Losses() int64 { return m.losses.Load() }

// look reads and increments the markers, and reads the note about a loss. It calls the function counted after it has
// read the group's marker and before it reads the other markers. One master of a Cluster may be unavailable, so look
// returns an error only if it could not read any marker (regression: bug 61).
func (m *Member) look(ctx context.Context, counted func()) error {
	lost, read := false, false
	var failed error
	for i := range m.markers {
		gone, err := m.raise(ctx, i)
		lost, read = lost || gone, read || err == nil
		failed = cmp.Or(failed, err)
		if i == 0 && err == nil {
			counted()
		}
	}
	if lost {
		m.lost.Store(m.config.Clock().UnixMicro())
		m.losses.Add(1)
	}
	if !read {
		return failed
	}
	if lost {
		m.owed.Store(true)
	}
	_ = m.note(ctx, m.owed.Load()) // its master may be unavailable; the next beat retries
	return nil
}

// value returns the name of marker i. Marker 0 has the group's name.
func (m *Member) value(i int) string {
	if i == 0 {
		return m.config.Group
	}
	return m.config.Group + "/mark/" + strconv.Itoa(i)
}

// raise increments a marker, unless another process has incremented it since the last beat, and reports whether the
// marker reveals a loss. Calls to [Member.Beat] can be concurrent, so raise first reads the last known marker: a
// concurrent update must not look like a loss.
func (m *Member) raise(ctx context.Context, i int) (lost bool, err error) {
	for name, before := m.value(i), m.marker(i); ; {
		text, version, err := m.coordinator.Get(ctx, name)
		if err != nil {
			return false, err
		}
		found := marker{id: rand.Text()}
		if version != 0 {
			if _, err := fmt.Sscanf(text, "%s %d", &found.id, &found.count); err != nil {
				return false, fmt.Errorf("the marker %s is %.40q: %w", name, text, err)
			}
		}
		lost = before.id != "" && (found.id != before.id || found.count < before.count)
		if raised := before.id != "" && found.count > before.count; raised && !lost {
			m.learn(i, before, found, lost)
			return false, nil
		}
		next := marker{found.id, found.count + 1}
		_, swapped, err := m.coordinator.CompareAndSet(ctx, name, version, next.String())
		switch {
		case err != nil:
			return lost, err
		case swapped:
			found = next
		case version == 0:
			continue // another process has just created it
		}
		m.learn(i, before, found, lost)
		return lost, nil
	}
}

// marker returns the last known state of a marker.
func (m *Member) marker(i int) marker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.markers[i]
}

// learn stores the state found at a marker, unless another call has stored a state in the meantime. After a loss, the
// process counts as new, because the other processes may have counted without it.
func (m *Member) learn(i int, before, found marker, lost bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lost || m.markers[i] == before {
		m.markers[i] = found
	}
	if lost {
		m.count.Since = time.Now()
	}
}

// note records in the store when the store lost data, for processes that start later. If this process has no loss to
// record, it reads the record: another process may have noticed a loss, or an operator may have accepted it.
func (m *Member) note(ctx context.Context, lost bool) error {
	name := lossOf(m.config.Group)
	text, version, err := m.coordinator.Get(ctx, name)
	if err != nil {
		return err
	}
	if lost {
		version, _, err = m.coordinator.CompareAndSet(ctx, name, version, strconv.FormatInt(m.lost.Load(), 10))
		if err != nil {
			return err
		}
		m.owed.Store(false) // if another process was faster, it has noticed the same loss
		m.noted.Store(version)
		return nil
	}
	now := m.config.Clock().UnixMicro()
	before := m.looked.Swap(now)
	if version == m.noted.Load() || version == 0 {
		return nil
	}
	m.noted.Store(version)
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("the note %s is %.40q: %w", name, text, err)
	}
	if at != 0 && before != 0 && (at < before || now < at) {
		at = now // the note is newer than the last beat, so the process that wrote it has another time
	}
	m.lost.Store(at)
	return nil
}

// lossOf returns the name of the value that records a group's loss.
func lossOf(group string) string { return group + "/loss" }

// AcceptLoss records, for the processes of a group, that an operator accepts a loss of the store's data. Within an
// [Interval] the processes trust the store again, and may admit the units that were charged before the loss a second
// time. lost is false if no loss is recorded, or if it was accepted before: then nothing changes. The coordinator must be
// the store's own. If group is empty, it is [DefaultGroup].
func AcceptLoss(ctx context.Context, coordinator engine.Coordinator, group string) (lost bool, err error) {
	const accepted = "0"
	name := lossOf(cmp.Or(group, DefaultGroup))
	for {
		text, version, err := coordinator.Get(ctx, name)
		if err != nil || version == 0 || text == accepted {
			return false, err
		}
		if _, swapped, err := coordinator.CompareAndSet(ctx, name, version, accepted); err != nil || swapped {
			return swapped, err
		}
	}
}

// AcceptLoss is the function of the same name for the member's group. This process trusts the store when it returns.
func (m *Member) AcceptLoss(ctx context.Context) (lost bool, err error) {
	lost, err = AcceptLoss(ctx, m.coordinator, m.config.Group)
	if err == nil && lost {
		err = m.Beat(ctx)
	}
	return lost, err
}
