package fallback

import (
	"context"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// processes is the number of processes that share the limits: expect, or the largest number that the member has
// received recently if that is larger. After a loss of the store's data, processes rejoin one by one, so the latest
// number may be too small.
type processes struct {
	expect int
	clock  func() time.Time

	mu     sync.Mutex
	recent [2]int // the largest numbers of this minute and the previous one
	minute int64
	ever   bool
}

// observe stores the number of processes from a beat.
func (p *processes) observe(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.age()
	p.recent[0], p.ever = max(p.recent[0], number), true
}

// age moves the recent numbers on if the minute has changed since the last beat. Only a beat calls it, so without
// beats count keeps returning the same number.
func (p *processes) age() {
	minute := p.clock().Unix() / 60
	if minute == p.minute {
		return
	}
	p.recent[1], p.recent[0], p.minute = p.recent[0], 0, minute
}

// count returns the number of processes that share the limits, at least expect. It returns 0 if expect is 0 and no
// number has been received yet.
func (p *processes) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ever {
		return p.expect
	}
	return max(p.recent[0], p.recent[1], p.expect)
}

// probed is the limit for testing the store.
var probed = engine.Build(algo.FixedWindow, []engine.Rate{engine.Per(1, time.Second)})

const probeSpace = "headgate:probe"

// probe tests a lane: the store must answer a request. A store with one lane must also report whether it lost data. If
// there are several lanes, the values that show a loss may be on lanes that are unavailable.
func (s *Store) probe(ctx context.Context, lane int) error {
	ops := []engine.Op{engine.Single(engine.OpPeek, s.lanes.probes[lane], probed, 1)}
	ops[0].Space = probeSpace
	results := make([]engine.Answer, 1)
	if s.store.Do(ctx, ops, results); results[0].Err != nil {
		return results[0].Err
	}
	if err := s.member.Beat(ctx); engine.Away(err) && len(s.lanes.each) == 1 {
		return err
	}
	return nil
}
