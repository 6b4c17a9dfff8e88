package redisstore

import "sync/atomic"

// Stats is what a store has counted.
type Stats struct {
	// Errors is how often each class came up, by its name.
	Errors map[string]int64
	// InFlight is how many calls are under way.
	InFlight int
	// RoundTrips is how often the connection was asked. One on a Cluster may
	// be a write to each of several nodes, at once.
	RoundTrips int64
}

type counters [classes]atomic.Int64

func (c *counters) count(class Class) { c[class].Add(1) }

// Stats returns what the store has counted.
func (s *Store) Stats() Stats {
	counted := Stats{Errors: map[string]int64{}, InFlight: len(s.slots), RoundTrips: s.roundTrips.Load()}
	for class := range classes {
		if n := s.stats[class].Load(); n > 0 {
			counted.Errors[class.String()] = n
		}
	}
	return counted
}
