package prefetch

import (
	"context"
	"fmt"

	"github.com/headgate/headgate/engine"
)

// SetSpaces replaces [Config.Spaces] while the store is in use. Before it returns, it gives back the held units of
// limits that are no longer prefetched, so that they are in the store when the limit changes. If ctx ends first,
// SetSpaces returns an error, and the remaining units are given back at half their life. The new limits apply in either
// case. If a limit cannot be prefetched, SetSpaces returns an [*engine.InputError] and changes nothing. After Close, it
// does nothing.
func (s *Store) SetSpaces(ctx context.Context, spaces map[string][]engine.Limit) error {
	if err := checkLimits(nil, spaces); err != nil {
		return err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.closed.Load() {
		return nil
	}
	next := newLeased(s.config.Limits, spaces)
	kept := s.leased.Load().both(next)
	s.leased.Store(&kept) // from now on, no units of dropped limits are taken
	err := s.returnDropped(ctx, kept)
	s.leased.Store(&next)
	if len(next) > 0 {
		s.start()
	}
	return err
}

// returnDropped returns the units of the limits that are no longer prefetched, including units that are in flight.
func (s *Store) returnDropped(ctx context.Context, kept leased) error {
	dropped := func(name id, r *record) bool {
		_, leased := kept.counter(r.limit, name.space)
		return !leased
	}
	for {
		s.give(ctx, s.table.collect(dropped))
		inFlight := s.table.inFlight(dropped)
		if inFlight == nil {
			return nil
		}
		select {
		case <-inFlight:
		case <-ctx.Done():
			return fmt.Errorf("prefetch: units of a changed limit go back later: %w", ctx.Err())
		}
	}
}

// inFlight returns a channel that is closed when the units in flight for one of the wanted records have arrived. It
// returns nil if no such units are in flight.
func (t *table) inFlight(wanted func(id, *record) bool) (arrived <-chan struct{}) {
	for i := range t.shards {
		h := &t.shards[i]
		h.Lock()
		for name, r := range h.known {
			if r.inFlight != nil && wanted(name, r) {
				arrived = r.inFlight
			}
		}
		h.Unlock()
	}
	return arrived
}
