package headgate

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// FairShare is one token bucket for all keys of a policy, divided fairly among them. While the keys ask for more than
// the rate, each gets an equal part, or as much as it asks for if that is less. The rest goes to the other keys, so a
// lone key gets the whole rate. The keys need not be known in advance.
//
// With 1000 a second, one key that asks for 20000 a second and nine keys that ask for 50 each, the nine keys get
// everything they ask for, and the busy key gets 550. A lone key can use half of the Burst at once, so that another
// key's first request passes.
type FairShare struct {
	// Rate is the refill rate for all keys together.
	Rate Rate
	// Burst is the capacity for all keys together: 10 to 68719476736 units, by default the rate's count.
	Burst int64
	// Weight is a key's weight, 1 to 100, by default 1. While two keys both ask for more than they get, a key of weight
	// 3 gets three times as much as one of weight 1. Limits that differ only in their weights share one bucket, so a
	// policy and its copy with another weight ([Policy.With]) divide it among their keys.
	Weight int
	// Nested divides the limit among groups of keys, and each group's part among its keys. A key's group is its first
	// part, such as acme in Key("acme", "alice"). A single-part key that contains a colon, such as an IPv6 address,
	// would be put into the wrong group.
	Nested bool
	// Name is the limit's name: see [Limit].
	Name string
}

func (f FairShare) rule() engine.Limit {
	return build(algo.FairShare, f.Rate, units("burst", f.Burst), units("weight", int64(f.Weight)), flag("nested", f.Nested), word("name", f.Name))
}

// FairPacer is one [Pacer] for all keys of a policy, divided fairly among them like a [FairShare]: instead of being
// denied, up to MaxQueue units wait for their slots, and the burst and the queue together are divided among the keys.
// [Decision].Delay is at most MaxQueue divided by the rate.
type FairPacer struct {
	// Rate is the rate of departing units for all keys together.
	Rate Rate
	// MaxQueue is the maximum number of units that may wait, for all keys together. Burst and MaxQueue together are 10 to
	// 68719476736.
	MaxQueue int64
	// Burst is the number of units that can pass without a delay, for all keys together: 1 or more, by default 1.
	Burst int64
	// Weight has the same meaning as in [FairShare].
	Weight int
	// Nested has the same meaning as in [FairShare].
	Nested bool
	// Name is the limit's name: see [Limit].
	Name string
}

func (f FairPacer) rule() engine.Limit {
	return build(algo.FairPacer, f.Rate, units("burst", f.Burst), units("max_queue", f.MaxQueue), units("weight", int64(f.Weight)), flag("nested", f.Nested), word("name", f.Name))
}
