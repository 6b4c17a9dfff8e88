package engine

import (
	"math"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Charge is one limit of an operation, and its cost.
type Charge struct {
	// Limit is the limit that decides.
	Limit Limit
	// Cost is the number of units to charge: 0 or more. If it is 0, the limit is included in the answer but is not
	// charged.
	Cost int64
	// Report contains the outcomes of earlier requests, for a limit whose rate adapts ([algo.Algorithm.Adapts]). For
	// other limits it is nil. OpAllow, OpAtMost and OpReserve use it. It counts even if the request is denied or costs
	// nothing.
	Report *algo.Report
	// Choice is 0 for a limit that always takes part. Limits of choices 1, 2, … are alternatives: the operation charges
	// the limits of choice 0, and the limits of the first choice with enough units ([Answer.Choice]). Only allow, peek,
	// reserve, reset and expiry support choices, in one step of one store. Concurrency limits and limits that count
	// denials cannot belong to a choice.
	Choice uint8
	// Space and Key, if set, replace the operation's. For example, one request can count against its user and against
	// the whole service.
	Space, Key string
	// Items is a bit set of the items in the caller's list that the charge covers: items on the same counter become one
	// charge. 0 means only the item at the charge's own index.
	Items uint32
}

// LeaseOf returns the lease time of a permit with the given charges: the shortest of their limits.
func LeaseOf(charges []Charge) time.Duration {
	shortest := time.Duration(math.MaxInt64)
	for i := range charges {
		shortest = min(shortest, Micros(charges[i].Limit.Numbers().Period))
	}
	return shortest
}
