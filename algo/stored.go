package algo

// StoredBucket returns the state of a token bucket or a pacer from what a store
// keeps of it: the instant of its last change, what is missing in whole tokens
// and in parts of 1/period, and the numbers it was written under.
func StoredBucket(a Algorithm, at, whole, part, count, period int64) State {
	missing := product(whole, period).plus(uint128{lo: uint64(part)})
	return State{algorithm: a, bucket: Bucket{Missing: missing, Count: count, Period: period, At: at}}
}

// StoredFixed returns the state of a fixed window from what a store keeps of it.
func StoredFixed(count, end int64) State {
	return State{algorithm: FixedWindow, fixed: Fixed{Count: count, End: end}}
}
