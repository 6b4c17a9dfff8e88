package prefetch

import (
	"context"
	"fmt"

	"github.com/headgate/headgate/engine"
)

// SetSpaces replaces [Config.Spaces] while the store is in use. Before it returns, the
// units held of limits that are no longer prefetched have gone back, so that a change of
// a limit finds them in the store. If ctx ends first, the rest goes back at half its life;
// the new limits are in force in either case. The error is an [*engine.InputError] for a
// limit that cannot be prefetched, and then nothing changes.
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
	s.leased.Store(&kept) // from here on no units are taken of the others
	err := s.returnDropped(ctx, kept)
	s.leased.Store(&next)
	if len(next) > 0 {
		s.start()
	}
	return err
}

// returnDropped returns the units of the limits that are not kept, and those that are
// being taken of them.
func (s *Store) returnDropped(ctx context.Context, kept leased) error {
	dropped := func(name id, r *record) bool { return !kept.has(r.limit, name.space) }
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

// inFlight returns a channel that is closed when units of a wanted record have arrived;
// nil if none are being taken.
func (t table) inFlight(wanted func(id, *record) bool) (arrived <-chan struct{}) {
	for h := range t.All() {
		h.Lock()
		for name, r := range h.Known {
			if r.inFlight != nil && wanted(name, r) {
				arrived = r.inFlight
			}
		}
		h.Unlock()
	}
	return arrived
}
