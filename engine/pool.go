package engine

import "time"

// Pool is the state of all keys together under a limit that divides its units among them. It is derived from one key's
// answer, so Own can be too large by up to the weight, and for a key with nothing remaining it is a lower bound.
type Pool struct {
	// Burst is the size of the bucket, and Outstanding the number of units that have not refilled yet.
	Burst, Outstanding int64
	// Own estimates the outstanding units of this key.
	Own int64
	// Heavy estimates the number of keys of weight 1 that ask for more than they get.
	Heavy int64
}

// Pool derives the state of all keys from the answer to a peek. ok is false if the limit does not divide its units.
//
// With a burst of 200, a reset after 150 ms at 1000 a second, and nothing remaining for a key of weight 1: 150 are
// outstanding, at least 50 of them its own, and 3 keys ask for more than they get.
func (l Limit) Pool(remaining int64, reset time.Duration) (p Pool, ok bool) {
	n := l.Numbers()
	if !n.Algorithm.Divides() || n.Algorithm.Holds() {
		return p, false
	}
	p.Burst, p.Outstanding = n.Burst, min(n.Burst, n.Refilled(reset.Microseconds()))
	free := p.Burst - p.Outstanding
	p.Own = min(p.Outstanding, max(0, n.Weight*free-(n.Weight+1)*remaining))
	if p.Heavy = p.Burst - 1; free > 0 {
		p.Heavy = min(p.Heavy, p.Burst/free-1)
	}
	return p, true
}
