package model

// Count counts the calls that began in one phase.
type Count struct {
	// Offered is the number of calls. Good is the number of calls with an attempt that succeeded within the client's
	// deadline.
	Offered, Good int64
	// Denied is the number of attempts that the gate denied. Wrong is the number that it denied while a worker was
	// idle.
	Denied, Wrong int64
}

// Share counts the calls of one tenant.
type Share struct{ Offered, Good int64 }

// Moment holds the counts of one part of the run. Limit, Squares and Inflight are sums over the part's Ticks. Good and
// Offered are numbers of calls.
type Moment struct {
	// Squares is the sum of the squared limits.
	Limit, Squares, Inflight float64
	Ticks                    int64
	Good, Offered            int64
}

// Tally holds the counts of a run.
type Tally struct {
	Phases  []Count
	Tenants []Share
	// Latency is the latency of admitted attempts as measured by the client. A timeout counts as the deadline.
	Latency *Histogram
	// Moments are equal parts of the run. Every is the length of a part in µs.
	Moments []Moment
	Every   int64
	Length  int64
	// Begins are the start times of the phases.
	Begins []int64
}

// moments is the number of parts in a run.
const moments = 240

func newTally(c *Config) *Tally {
	every := max(1, (c.Length+moments-1)/moments)
	return &Tally{
		Phases: make([]Count, len(c.Phases)), Tenants: make([]Share, c.Tenants), Latency: &Histogram{},
		Moments: make([]Moment, moments), Every: every, Length: c.Length, Begins: c.Phases,
	}
}

func (t *Tally) moment(now int64) *Moment { return &t.Moments[min(now/t.Every, moments-1)] }

func (t *Tally) offered(now int64, phase, tenant int) {
	t.Phases[phase].Offered++
	t.Tenants[tenant].Offered++
	t.moment(now).Offered++
}

func (t *Tally) denied(c *clientCall, idle bool) {
	p := &t.Phases[c.phase]
	p.Denied++
	if idle {
		p.Wrong++
	}
}

func (t *Tally) answered(us int64) { t.Latency.Add(us) }

func (t *Tally) good(c *clientCall, now int64, tenant int) {
	t.Phases[c.phase].Good++
	t.Tenants[tenant].Good++
	t.moment(now).Good++
}

func (t *Tally) observed(now int64, limit float64, inflight int) {
	if now > t.Length {
		return
	}
	m := t.moment(now)
	m.Limit += limit
	m.Squares += limit * limit
	m.Inflight += float64(inflight)
	m.Ticks++
}
