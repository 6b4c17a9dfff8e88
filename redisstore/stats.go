package redisstore

import "sync/atomic"

// Stats contains counters since the store was created, and one gauge, InFlight.
type Stats struct {
	// Errors counts errors by the name of their [Class].
	Errors map[string]int64
	// InFlight is the number of calls in flight now.
	InFlight int
	// RoundTrips counts the calls to [Conn.Do]. On a Cluster, one round trip can consist of concurrent writes to
	// several nodes.
	RoundTrips int64
}

type errorCounts [classCount]atomic.Int64

func (c *errorCounts) add(class Class) { c[class].Add(1) }

// Stats returns the counters.
func (s *Store) Stats() Stats {
	stats := Stats{Errors: map[string]int64{}, InFlight: len(s.inFlight), RoundTrips: s.roundTrips.Load()}
	for class := range classCount {
		if n := s.errorCounts[class].Load(); n > 0 {
			stats.Errors[class.String()] = n
		}
	}
	return stats
}
