package fallback

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/layer/membership"
)

// contact is what this process knows from the store's own answers: which lanes have acknowledged a write of it since
// it started, and the store's time. A share in a lane that never did is empty when the process starts. Otherwise each
// restart during an outage would grant its units again (regression: bug 63).
type contact struct {
	heard []atomic.Bool // by lane
	ahead atomic.Int64  // the store's clock less the member's, in µs
	known atomic.Bool   // ahead is known
}

// probed is a limit that allows and counts every probe, so that an answer acknowledges a write. A peek would also be
// answered by a primary that has become a replica.
var probed = engine.Build(algo.TokenBucket, []engine.Rate{engine.Per(1_000_000, time.Second)})

const probeSpace = "headgate:probe"

// probe tests a lane: the store must count a request. A store with one lane must also report whether it lost data. If
// there are several lanes, the values that show a loss may be on lanes that are unavailable.
func (s *Store) probe(ctx context.Context, lane int) error {
	if err := s.hear(ctx, lane); err != nil {
		return err
	}
	if err := s.member.Beat(ctx); engine.Away(err) && len(s.lanes.each) == 1 {
		return err
	}
	return nil
}

// hear sends a request to each of the lanes and returns the error of the last one that failed.
func (s *Store) hear(ctx context.Context, lanes ...int) (err error) {
	ops, results := make([]engine.Op, len(lanes)), make([]engine.Answer, len(lanes))
	for i, lane := range lanes {
		ops[i] = engine.Single(engine.OpAllow, s.lanes.probes[lane], probed, 1)
		ops[i].Space = probeSpace
	}
	sent := s.member.Now().UnixMicro()
	s.store.Do(ctx, ops, results)
	received := s.member.Now().UnixMicro()
	for i := range results {
		if r := &results[i]; r.Err != nil {
			err = r.Err
		} else {
			s.contact.heard[lanes[i]].Store(true)
			s.contact.timed(r.AtMicros-received, r.AtMicros-sent)
		}
	}
	return err
}

// timed records that the store's clock is ahead by at least and at most the given µs. What is known is changed only as
// far as it must be, and begins with the most: a clock that is set forward refills shares.
func (c *contact) timed(least, most int64) {
	if before := c.ahead.Load(); !c.known.Swap(true) {
		c.ahead.Store(most)
	} else {
		c.ahead.Store(min(max(before, least), most))
	}
}

// unheard returns the lanes with keys that have not acknowledged a write yet.
func (s *Store) unheard() (lanes []int) {
	for i := range s.contact.heard {
		if !s.contact.heard[i].Load() && s.lanes.probes[i] != "" {
			lanes = append(lanes, i)
		}
	}
	return lanes
}

// hearAll sends requests to the lanes that have not acknowledged a write yet, until all of them have, or life ends.
func (s *Store) hearAll(life context.Context) {
	for lanes := s.unheard(); len(lanes) > 0 && life.Err() == nil; lanes = s.unheard() {
		ctx, cancel := context.WithTimeout(life, membership.Interval)
		_ = s.hear(ctx, lanes...) // what fails is sent again
		cancel()
		sleep(life, membership.Interval)
	}
}

// heardOf reports whether the lane of one of an operation's limits has acknowledged a write of this process.
func (s *Store) heardOf(op *engine.Op, charge int) bool {
	return s.contact.heard[s.lanes.lane(op, charge)].Load()
}

// clock is the store's time as last heard, or this process's time, moved on by the monotonic clock.
func (s *Store) clock() time.Time {
	return s.config.Memory.Clock().Add(time.Duration(s.contact.ahead.Load()) * time.Microsecond)
}

// now returns the time of clock in µs since 1970.
func (s *Store) now() int64 { return s.clock().UnixMicro() }

// lost returns the instant of the store's last loss of data, by the same clock. It is 0 if no loss is known.
func (s *Store) lost() int64 {
	if at := s.member.Lost(); at != 0 {
		return at + s.contact.ahead.Load()
	}
	return 0
}
