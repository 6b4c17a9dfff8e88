package prefetch

import (
	"time"

	"github.com/headgate/headgate/layer/membership"
)

// members returns the number of processes that share the limits. known is false if the number is unknown, or if this
// process may not prefetch yet.
//
// No process uses a number older than two beats, and the units that it prefetches live up to 10 s longer, so a process
// is counted until its units are dead. A process that joins waits for two beats and a life. After that time, every
// other process counts it, and units prefetched under older numbers are dead. A process whose membership may have
// expired joins again, and after a loss of the group all processes join again: see package membership.
func (s *Store) members(now time.Time) (n int, known bool) {
	c, life := s.member.Count(), s.config.Life
	ready, old := c.Since.Add(2*membership.Interval+life), c.Sent.Add(2*membership.Interval)
	if now.Before(ready) || !now.Before(old) {
		return 0, false
	}
	return c.Number, true
}
