package headgate

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// ConcurrencyLimit is a limit on the units held at the same time, for a [Semaphore]: a [Concurrency] or a
// [FairConcurrency].
type ConcurrencyLimit interface {
	concurrency() engine.Limit
}

// Concurrency is a limit on the units that a key holds at the same time. A caller holds a unit until it releases it, or
// until the lease time passes without a renewal.
type Concurrency struct {
	// Units is the number of units: 1 to 100 000.
	Units int64
	// Lease is how long a caller holds units without renewing them: 1 ms to 36525 days, by default 60 s.
	Lease time.Duration
}

func (c Concurrency) concurrency() engine.Limit {
	return build(algo.Concurrency, Rate{Count: c.Units, Period: engine.DefaultLease}, span("lease", c.Lease))
}

// FairConcurrency is one [Concurrency] for all keys, divided fairly among them. Out of 100 units, a lone key can hold 93,
// and two keys that both want more hold about 46 each. A key's first unit passes while any unit is free.
type FairConcurrency struct {
	// Units is the number of units for all keys together: 10 to 100 000.
	Units int64
	// Lease has the same meaning as in [Concurrency].
	Lease time.Duration
	// Weight is a key's weight, 1 to 100, by default 1. While two keys both want more units, a key of weight 3 can hold
	// three times as many as one of weight 1. A semaphore and its copy with another weight ([Semaphore.With]) divide the
	// same units.
	Weight int
}

func (c FairConcurrency) concurrency() engine.Limit {
	return build(algo.FairConcurrency, Rate{Count: c.Units, Period: engine.DefaultLease}, span("lease", c.Lease), units("weight", int64(c.Weight)))
}
