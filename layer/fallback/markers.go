package fallback

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"

	"github.com/headgate/headgate/engine"
)

// marker is a value in the store that the processes increment about once a beat. It is missing in a store that comes
// back empty, has a smaller count in one with older data, and another id in one in which another process has
// recreated it.
//
// A loss of less than one beat's charges goes unnoticed.
type marker struct {
	id    string
	count int64
}

func (m marker) String() string { return m.id + " " + strconv.FormatInt(m.count, 10) }

// look reads and increments the markers, and reads the note about a loss. Since one master of a Cluster may be away,
// it is an error only if no marker was read (known bug 61).
func (p *processes) look(ctx context.Context) error {
	lost, read := false, false
	var failed error
	for i := range p.markers {
		gone, err := p.raise(ctx, i)
		lost, read = lost || gone, read || err == nil
		failed = cmp.Or(failed, err)
	}
	if lost {
		p.lost.Store(p.clock().UnixMicro())
		p.losses.Add(1)
	}
	if !read {
		return failed
	}
	_ = p.note(ctx, lost) // its master may be away; the next beat retries
	return nil
}

// raise increments a marker, unless another process has done so since the last beat, and reports whether it reveals a
// loss. Beats and tests of lanes call it concurrently. It reads the last known marker first, so that a concurrent
// update does not look like a loss.
func (p *processes) raise(ctx context.Context, i int) (lost bool, err error) {
	name, before := p.group+"/mark/"+strconv.Itoa(i), p.marker(i)
	text, version, err := p.coordinator.Get(ctx, name)
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
		p.learn(i, before, found)
		return false, nil
	}
	next := marker{found.id, found.count + 1}
	_, swapped, err := p.coordinator.CompareAndSet(ctx, name, version, next.String())
	switch {
	case err != nil:
		return lost, err
	case swapped:
		found = next
	case version == 0:
		found = marker{} // another process has just created it: the next beat reads it
	}
	if lost {
		before = p.marker(i)
	}
	p.learn(i, before, found)
	return lost, nil
}

// marker returns the last known state of a marker.
func (p *processes) marker(i int) marker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.markers[i]
}

// learn stores the found state of a marker, unless another call has stored one since.
func (p *processes) learn(i int, before, found marker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.markers[i] == before {
		p.markers[i] = found
	}
}

// note records in the store when it lost data, so that processes started later are warned. Without a loss of its own,
// the process takes over the record: another process may have noticed a loss, or an operator accepted it.
func (p *processes) note(ctx context.Context, lost bool) error {
	name := p.group + "/loss"
	text, version, err := p.coordinator.Get(ctx, name)
	if err != nil {
		return err
	}
	if lost {
		version, _, err = p.coordinator.CompareAndSet(ctx, name, version, strconv.FormatInt(p.lost.Load(), 10))
		p.version.Store(version)
		return err
	}
	if version == p.version.Load() || version == 0 {
		return nil
	}
	p.version.Store(version)
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("the note %s is %.40q: %w", name, text, err)
	}
	p.lost.Store(at)
	return nil
}

// AcceptLoss tells the processes of a group that an operator accepts a loss of the store's data: within a beat they
// trust the store again, and may admit once more the units counted before the loss. The coordinator is the store's.
// An empty group means [DefaultGroup].
func AcceptLoss(ctx context.Context, coordinator engine.Coordinator, group string) error {
	if group == "" {
		group = DefaultGroup
	}
	name := group + "/loss"
	for {
		_, version, err := coordinator.Get(ctx, name)
		if err != nil {
			return err
		}
		if _, swapped, err := coordinator.CompareAndSet(ctx, name, version, "0"); err != nil || swapped {
			return err
		}
	}
}
