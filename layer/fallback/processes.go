package fallback

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

const (
	beat = time.Second
	// lives is the number of beats for which a process is counted after its last one.
	lives = 5
	// farewell bounds the time for leaving the group.
	farewell = 100 * time.Millisecond
)

// processes counts the processes that share the limits, and detects a loss of the store's data since they started:
// markers.go.
type processes struct {
	coordinator engine.Coordinator
	group, own  string
	expect      int
	clock       func() time.Time
	early       chan struct{}

	mu      sync.Mutex
	recent  [2]int // the largest numbers of this minute and the previous one
	minute  int64
	ever    bool
	names   []string // from the last beat
	markers []marker // as last seen

	// lost is when the store last lost data, in µs since 1970, or 0.
	lost    atomic.Int64
	losses  atomic.Int64
	version atomic.Int64 // of the last read record of a loss
}

func (p *processes) init(coordinator engine.Coordinator, c *Config) {
	p.coordinator, p.group, p.own, p.expect, p.clock = coordinator, c.Group, rand.Text(), c.Expect, c.Memory.Clock
	if c.Name != "" {
		p.own = c.Name + "/" + p.own
	}
	p.markers, p.early = make([]marker, c.Markers), make(chan struct{}, 1)
}

// run beats until life ends.
func (p *processes) run(life context.Context) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		ctx, cancel := context.WithTimeout(life, beat)
		_ = p.once(ctx) // on error the number stays; the next beat retries
		cancel()
		select {
		case <-ticker.C:
		case <-p.early:
		case <-life.Done():
			return
		}
	}
}

// hurry reads the markers at once: the store was away, and may have lost its data.
func (p *processes) hurry() {
	select {
	case p.early <- struct{}{}:
	default:
	}
}

// once beats, and reads the markers.
func (p *processes) once(ctx context.Context) error {
	names, err := p.coordinator.Beat(ctx, p.group, p.own, lives*beat)
	number := len(names)
	if errors.Is(err, engine.ErrGroupFull) {
		number, err = engine.MaxMembers, nil
	}
	if err != nil {
		return err
	}
	p.heard(number, names)
	return p.look(ctx)
}

// heard stores the number of processes. It is known from then on, even if a marker cannot be read, because one master
// of a Cluster may be away (known bug 61).
func (p *processes) heard(number int, names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.age()
	p.recent[0], p.ever = max(p.recent[0], number), true
	if len(names) > 0 {
		p.names = names
	}
}

// age starts another minute. After a loss of the store's data the processes rejoin one by one, so the number is the
// largest of the last minutes. Without beats it does not change.
func (p *processes) age() {
	minute := p.clock().Unix() / 60
	if minute == p.minute {
		return
	}
	p.recent[1], p.recent[0], p.minute = p.recent[0], 0, minute
}

// count returns the number of processes that share the limits, or 0 if unknown.
func (p *processes) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ever {
		return p.expect
	}
	return max(p.recent[0], p.recent[1], p.expect)
}

// members returns the name of this process, and the names from the last beat.
func (p *processes) members() (own string, all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own, slices.Clone(p.names)
}

// leave removes the process from the group.
func (p *processes) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = p.coordinator.Leave(ctx, p.group, p.own) // after an error, the membership expires by itself
}

// probed is the limit for testing the store.
var probed = engine.Build(algo.FixedWindow, []engine.Rate{engine.Per(1, time.Second)})

const probeSpace = "headgate:probe"

// probe tests a lane: it must answer a request. A store with one lane must also tell whether it lost data; with
// several, the values for that may be on lanes that are away.
func (s *Store) probe(ctx context.Context, lane int) error {
	ops := []engine.Op{engine.Single(engine.OpPeek, s.lanes.probes[lane], probed, 1)}
	ops[0].Space = probeSpace
	results := make([]engine.Result, 1)
	if s.store.Do(ctx, ops, results); results[0].Err != nil {
		return results[0].Err
	}
	if err := s.processes.once(ctx); Away(err) && len(s.lanes.each) == 1 {
		return err
	}
	return nil
}
