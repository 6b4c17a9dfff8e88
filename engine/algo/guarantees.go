package algo

import "unique"

// MaxClasses is the largest number of classes of a limit.
const MaxClasses = 8

// Guarantees describes how a guaranteed rate is divided: the classes, the most important first, and the bucket that
// they share.
type Guarantees struct {
	Of [MaxClasses]Guarantee
	N  int
	// Shared is the capacity of the shared bucket, in units.
	Shared int64
	// Refill is the time until an exhausted limit has all its units again, in µs. [Limit.Guarantee] computes it from
	// the other fields.
	Refill int64
	// Down is set if a class lends to the classes after it before it lends to all classes.
	Down bool
}

// Guarantee describes one class.
type Guarantee struct {
	// Rate is the guaranteed rate, in units per period of the limit, and Burst is the capacity of the class's own
	// bucket.
	Rate, Burst int64
	// Ceiling is the class's fastest rate, in units per period, and Most is its largest burst. 0 means no ceiling.
	Ceiling, Most int64
}

// Guarantee sets the guarantees of a limit whose rate is set.
func (l *Limit) Guarantee(all Guarantees) {
	empty := lent{shared: all.Shared * l.Period, of: make([]owing, all.N)}
	for i := range empty.of {
		empty.of[i] = owing{own: all.Of[i].Burst * l.Period, ceiling: all.Of[i].Most * l.Period}
	}
	l.Guarantees = unique.Make(all)
	all.Refill = empty.full(l)
	l.Guarantees = unique.Make(all)
}

// own returns the guarantee of the limit's class, and the capacity of the shared bucket.
func (l *Limit) own() (own Guarantee, shared int64) {
	all := l.Guarantees.Value()
	return all.Of[l.Rank-1], all.Shared
}

// mostOfClass returns the largest number of units that the limit's class can take at once.
func (l *Limit) mostOfClass() int64 {
	own, shared := l.own()
	most := own.Burst + shared
	if own.Ceiling > 0 {
		most = min(most, own.Most)
	}
	return most
}
