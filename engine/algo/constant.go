package algo

// Limits that give every request the same answer keep no state. None, the algorithm of an invalid limit, also keeps no
// state, and denies.
var (
	none = algorithm{name: "none", on: onDenied, shares: ownShare}

	denyAll = algorithm{name: "deny", properties: properties{deniesAll: true}, on: onDenied, shares: ownShare}

	unlimited = algorithm{
		name: "unlimited",
		properties: properties{
			allowsAll: true,
			delays:    true, // it does not deny a caller that waits for another limit
		},
		on:     func(*State) arithmetic { return &allowed },
		shares: ownShare,
	}
)

// constant is a fixed answer: longest is the wait for any cost, and free is the number of units that pass.
type constant struct{ longest, free int64 }

var (
	denied  = constant{longest: Never}
	allowed = constant{free: Never}
)

func onDenied(*State) arithmetic { return &denied }

func (*constant) behind(*Limit, Instant) (us int64, far bool)            { return 0, false }
func (*constant) rewind(*Limit, Instant)                                 {}
func (*constant) settle(*Limit, Instant)                                 {}
func (c *constant) wait(*Limit, Instant, int64) (wait int64, window int) { return c.longest, 0 }
func (c *constant) room(*Limit, Instant) int64                           { return c.free }
func (*constant) charge(*Limit, Instant, int64, int64) (after int64)     { return 0 }
func (*constant) give(*Limit, Instant, int64, *Held)                     {}
func (*constant) report(*Limit, Instant, *Outcome)                       {}
func (*constant) ttl(*Limit, Instant) int64                              { return 0 }
func (*constant) append(to []byte) []byte                                { return to }
func (*constant) decode(d *decoder)                                      { d.failed = true }

// ownShare returns the limit itself, because each process alone gives the same answers as all processes together.
func ownShare(l *Limit, _ int64) []Share { return []Share{{Limit: *l, SameAlgorithm: true, Scale: 1}} }
