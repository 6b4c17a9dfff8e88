package membership

import "context"

// former is the name of a group and of a value that earlier builds use. In these builds, the processes that prefetch
// send their beats to this group, and do not count members. When the version of the value changes, they assume that
// the group was lost, and prefetch nothing for two of their beats plus the life of their units.
//
// Each beat of a member changes the version. Earlier builds therefore prefetch nothing while a member beats, and
// their requests go to the store. They prefetch again once the units of the last member have expired. In outages,
// each process counts processes of both kinds, because earlier builds also beat as members of [DefaultGroup].
const former = "leases"

// outdate changes the version of the value. It makes two attempts. Both fail only if another member changed the value
// in between.
func (m *Member) outdate(ctx context.Context) error {
	m.mu.Lock()
	version := m.former
	m.mu.Unlock()
	swapped := false
	for try := 0; try < 2 && !swapped; try++ {
		var err error
		if version, swapped, err = m.coordinator.CompareAndSet(ctx, former, version, m.own); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.former = max(m.former, version)
	return nil
}
