package fallback

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/membership"
)

// lanes are parts of a store that can be unavailable independently: ranges of a Cluster's slots, so that a master that
// is unavailable does not affect the keys of other masters (regression: bug 61).
type lanes struct {
	of     func(op *engine.Op, charge int) int // nil means a single lane
	each   []breaker
	open   atomic.Int32 // number of lanes that are unavailable
	probes []string     // a key in each lane

	telling sync.Mutex
	told    bool // the last event that Config.OnOutage received
}

// laneChanged passes the begin or the end of an outage to Config.OnOutage.
func (s *Store) laneChanged(cause error) {
	if s.config.OnOutage == nil {
		return
	}
	l := &s.lanes
	l.telling.Lock()
	defer l.telling.Unlock()
	if away := l.open.Load() > 0; away != l.told && away == (cause != nil) {
		l.told = away
		s.config.OnOutage(away, cause)
	}
}

func (s *Store) makeLanes(c *Config) {
	s.lanes.of, s.lanes.each, s.lanes.probes = c.Lane, make([]breaker, c.Lanes), make([]string, c.Lanes)
	for i := range s.lanes.each {
		b := &s.lanes.each[i]
		b.probe = func(ctx context.Context) error { return s.probe(ctx, i) }
		b.flushOutbox = func(life context.Context) { s.flush(life, func(op *engine.Op) bool { return !s.lanes.away(op, i) }) }
		b.back, b.suspect, b.slow, b.away, b.changed = s.member.Hurry, make(chan struct{}, 1), c.Slow, &s.lanes.open, s.laneChanged
	}
	s.findProbes()
}

// watchBeats makes every lane be tested while the process's beats have no answer, so that an outage is noticed even if
// nobody calls the store.
func (s *Store) watchBeats(life context.Context) {
	for life.Err() == nil {
		sleep(life, membership.Interval)
		if time.Since(time.Unix(0, s.beaten.Load())) < 2*membership.Interval {
			continue
		}
		for i := range s.lanes.each {
			s.lanes.each[i].suspected()
		}
	}
}

// probeTries is the number of keys tried to find one for each lane. With keys spread at random over 256 lanes, a lane
// is missed in one of 10^25 starts. If there are few shards, most lanes contain no key at all, so they cannot fail.
const probeTries = 1 << 14

func (s *Store) findProbes() {
	l := &s.lanes
	for n, found := 0, 0; n < probeTries && found < len(l.probes); n++ {
		op := engine.Single(engine.OpPeek, "probe"+strconv.Itoa(n), probed, 1)
		op.Space = probeSpace
		if i := l.lane(&op, 0); l.probes[i] == "" {
			l.probes[i] = op.Key
			found++
		}
	}
}

// lane returns the lane of one of an operation's limits.
func (l *lanes) lane(op *engine.Op, charge int) int {
	if l.of == nil {
		return 0
	}
	return l.of(op, charge)
}

// away reports whether the operation needs a lane that is unavailable. It ignores the lane with the index back. If back
// is −1, it ignores no lane.
func (l *lanes) away(op *engine.Op, back int) bool { return l.firstAway(op, back) != nil }

// firstAway returns the breaker of the first of the operation's lanes that is unavailable. It returns nil if no lane is
// unavailable. It ignores the lane with the index back.
func (l *lanes) firstAway(op *engine.Op, back int) *breaker {
	for i := range op.Charges {
		if lane := l.lane(op, i); lane != back && l.each[lane].open.Load() {
			return &l.each[lane]
		}
	}
	return nil
}

// around uses shares to decide operations on lanes that are unavailable, and sends all others to the store. If shares
// do not answer such an operation, it gets an error.
func (s *Store) around(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	rest := newRest()
	defer rest.free()
	for i := range ops {
		r := &results[i]
		if r.Err != nil {
			continue
		}
		away := s.lanes.firstAway(&ops[i], -1)
		if away == nil {
			rest.Add(i)
			continue
		}
		r.Err = away.unavailable()
		if s.answers(&ops[i]) {
			s.share(&ops[i], r)
		}
	}
	rest.Do(ctx, s.consult, ops, results)
}

// callResult summarizes the results of a call for one lane.
type callResult struct {
	answered bool
	left     bool // the caller left before the answer
	cause    error
}

// observe reports the result of a call to the breakers of its lanes. It reports whether some operations were not
// answered, or not confirmed, by the store.
func (s *Store) observe(ops []engine.Op, results []engine.Answer) (failed bool) {
	if len(s.lanes.each) == 1 {
		var one callResult
		for i := range results {
			failed = one.add(&results[i]) || failed
		}
		s.lanes.each[0].observe(&one)
		return failed
	}
	byLane := map[int]*callResult{}
	for i := range results {
		for charge := range ops[i].Charges { // which of its lanes is away, their own tests show
			lane := s.lanes.lane(&ops[i], charge)
			if byLane[lane] == nil {
				byLane[lane] = new(callResult)
			}
			failed = byLane[lane].add(&results[i]) || failed
		}
	}
	for lane, n := range byLane {
		s.lanes.each[lane].observe(n)
	}
	return failed
}

// add adds a result, and reports whether a share may have to answer it.
func (n *callResult) add(r *engine.Answer) (failed bool) {
	switch {
	case r.Err == nil:
		n.answered = n.answered || r.Promise.Mode == engine.Exact || r.Promise.Mode == engine.Split
		return false
	case engine.Away(r.Err):
		n.cause = r.Err
		return true
	default:
		n.left = n.left || unknown(r.Err)
		return false
	}
}

func (b *breaker) observe(n *callResult) {
	switch {
	case n.cause != nil:
		b.failed(n.cause, n.answered)
	case n.answered:
		b.answered()
	case n.left:
		b.unanswered()
	}
}
