package engine

// Kind is the kind of an Op. Stores' scripts receive these numbers, so new kinds must be added at the end.
type Kind uint8

// The kinds of operation.
const (
	// OpAllow charges each limit its cost, or charges nothing. It is the zero value.
	OpAllow Kind = iota
	// OpAtMost charges as many units as pass now, up to the cost.
	OpAtMost
	// OpPeek returns the answer of an OpAllow but writes nothing.
	OpPeek
	// OpGive gives the cost back to every limit.
	OpGive
	// OpReset deletes the state; Answer.Found reports whether there was any.
	OpReset
	// OpExpiry sets Answer.Found if there is a state, and Answer.TTL to its remaining lifetime. The limit's parameters
	// have no effect.
	OpExpiry
	// OpAcquire takes a permit of a concurrency limit for the holder Op.ID.
	OpAcquire
	// OpRenew extends the permit of Op.ID. A denial means that the permit is lost.
	OpRenew
	// OpRelease gives the permit of Op.ID back; Answer.Found reports whether there was one.
	OpRelease
	// OpCount charges the whole cost to a fixed window, even beyond the limit, like the counters of Envoy's rate limit
	// service. It is denied if the count now exceeds the limit. A window counts up to 2^48−1 units. Answer.Granted is
	// the number of units that were within the limit.
	OpCount
	// OpReserve charges like OpAllow, but a token bucket or pacer also grants units that refill later: see
	// [algo.Reserve]. For a concurrency limit, it acquires a permit. [Answer.Reservation] returns the reservation.
	OpReserve
	// OpSettle settles Op.Reservation ([algo.Settle]) and ends it, unless [Op].Stage is Report. The charges use the
	// reservation's limits, with the used units as costs (0 for a permit). Answer.Found reports whether this operation
	// settled the reservation. If the reservation has ended or was settled before, Found is false and nothing changes.
	OpSettle

	// Kinds is the number of kinds.
	Kinds
)

var kindNames = [...]string{
	"allow", "at most", "peek", "give", "reset", "expiry", "acquire", "renew", "release", "count", "reserve", "settle",
}

// String returns the kind's name, such as "allow".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Takes reports whether operations of the kind either take units or are denied: allow, at most, acquire, count and
// reserve.
func (k Kind) Takes() bool {
	return k == OpAllow || k == OpAtMost || k == OpAcquire || k == OpCount || k == OpReserve
}

// Reports reports whether operations of the kind can carry outcomes of earlier requests ([Charge].Report).
func (k Kind) Reports() bool { return k == OpAllow || k == OpAtMost || k == OpReserve }
