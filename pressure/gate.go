package pressure

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

// Config configures a gate.
type Config struct {
	// Each is the time between readings: 50 ms to 1 min, by default 250 ms.
	Each time.Duration
	// Changed is called with each new level and the signals that caused it, in the gate's goroutine. It can be nil.
	Changed func(level int, signals []Signal)
	// Root is the root of the file system, for tests. The default is "/".
	Root string
}

// Gate reads the signals until Close. It is safe for concurrent use.
type Gate struct {
	config Config
	groups groups
	level  atomic.Int64
	last   atomic.Pointer[[]Signal]
	done   chan struct{}
	closed sync.Once
	ended  sync.WaitGroup
}

// New starts a gate. If a value in c is out of range, the error is an [*engine.InputError].
func New(c Config) (*Gate, error) {
	if c.Each == 0 {
		c.Each = 250 * time.Millisecond
	}
	if c.Each < 50*time.Millisecond || c.Each > time.Minute {
		return nil, &engine.InputError{Field: "each", Value: c.Each.String(), Accepted: "50ms to 1m"}
	}
	if c.Root == "" {
		c.Root = "/"
	}
	g := &Gate{config: c, groups: findGroups(c.Root), done: make(chan struct{})}
	before := g.read()
	first := signals(&before, &before)
	g.last.Store(&first)
	g.ended.Go(func() { g.run(before) })
	return g, nil
}

// Level returns the level of pressure: 0 to [Full].
func (g *Gate) Level() int { return int(g.level.Load()) }

// Signals returns the signals of the last reading.
func (g *Gate) Signals() []Signal { return slices.Clone(*g.last.Load()) }

// Missing returns the signals that are unavailable on this system, each with the reason.
func (g *Gate) Missing() (missing []string) {
	why := map[string]string{
		"throttled": fmt.Sprintf("no CPU quota (control groups: version %d)", g.groups.version),
		"memory":    "neither a memory limit of the control group nor GOMEMLIMIT",
		"waiting":   "the system does not tell the CPU time of the process",
	}
	for _, name := range []string{"throttled", "memory", "waiting"} {
		if !slices.ContainsFunc(*g.last.Load(), func(s Signal) bool { return s.Name == name }) {
			missing = append(missing, name+": "+why[name])
		}
	}
	return missing
}

// Close stops the readings. The level stays at its last value.
func (g *Gate) Close() {
	g.closed.Do(func() { close(g.done) })
	g.ended.Wait()
}

func (g *Gate) run(before reading) {
	ticker := time.NewTicker(g.config.Each)
	defer ticker.Stop()
	var l level
	for {
		select {
		case <-g.done:
			return
		case <-ticker.C:
		}
		now := g.read()
		all := signals(&before, &now)
		g.last.Store(&all)
		was := l.now
		l.follow(all)
		g.level.Store(int64(l.now))
		if l.now != was && g.config.Changed != nil {
			g.config.Changed(l.now, all)
		}
		before = now
	}
}

func (g *Gate) read() (r reading) {
	r.at = time.Now()
	process(&r, g.groups.read(&r))
	return r
}
