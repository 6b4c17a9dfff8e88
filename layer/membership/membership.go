// Package membership counts the processes that share a store, and detects that the store has lost data. All layers of
// a process use one [Member].
//
// A member sends a beat every [Interval]. The store counts the member until it leaves, or until a [Life] has passed
// since its last beat. The members also increment markers in the store. A marker that is missing, has another id or
// has a lower count reveals a loss (loss.go). The first marker has the group's name, and therefore its slot on a
// Cluster: a node that loses the group loses this marker too.
//
// Layers derive their bounds from these rules:
//
//  1. The number that a beat returns includes every process that joined before the beat and has sent a beat in the
//     last [Life], unless the store has lost the group since.
//
//  2. A process that uses a number until two intervals after [Count.Sent], with effects that last at most 10 s
//     longer, is counted until these effects end: a Life is two intervals and 10 s.
//
//  3. Two intervals after [Count.Since], no process that follows rule 2 still uses a number that omits this process.
//     Since is set to now when the membership may have expired, and after a loss: the others may have counted without
//     this process in the meantime.
//
//  4. A number that was received after a loss of the group never comes with a Since from before the loss, because the
//     marker is read after the beat. All members read it, so all of them get a new Since.
//
//  5. The group also includes processes that do not use the same layers. A number that is too large makes shares
//     smaller, which is safe.
//
//     membership.go  the member, its users, and its beats
//     config.go      the settings
//     loss.go        detects that the store has lost data
package membership

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

const (
	// Interval is the time between two beats.
	Interval = time.Second
	// Life is how long a process counts as a member after its last beat.
	Life = 12 * time.Second
	// DefaultGroup is the default of [Config].Group.
	DefaultGroup = "processes"

	// farewell bounds the time that leaving the group may take.
	farewell = 100 * time.Millisecond
)

// Member is one process in the group. It is safe for concurrent use.
type Member struct {
	coordinator engine.Coordinator
	config      Config
	own         string
	early       chan struct{}

	running sync.Mutex // guards users and end
	users   int
	end     context.CancelFunc
	works   sync.WaitGroup

	mu       sync.Mutex
	onNumber func(number int)
	number   int      // from the last answered beat
	names    []string // of these processes
	count    Count
	markers  []marker // as last seen

	lost, losses, noted atomic.Int64
	owed                atomic.Bool  // a loss that is not recorded in the store yet
	looked              atomic.Int64 // when the note about a loss was last read, in µs since 1970
}

// Count is the number of processes that a beat returned. The group's marker was read after the beat.
type Count struct {
	Number int
	// Sent is the time when the beat was sent. From the time Since on, the store has counted this process without
	// interruption. Both are zero before the first beat.
	Sent, Since time.Time
}

// New returns a member that does not beat yet. If a value in c is out of range, the error is an [*engine.InputError].
func New(coordinator engine.Coordinator, c Config) (*Member, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	m := &Member{coordinator: coordinator, config: c, own: rand.Text(), early: make(chan struct{}, 1), markers: make([]marker, c.Markers)}
	if c.Name != "" {
		m.own = c.Name + "/" + m.own
	}
	return m, nil
}

// Start makes the member beat until every caller of Start has called the stop function that it got. The last such call
// also leaves the group. Start calls onNumber with the number of processes after each answered beat, and at once if the
// number is already known. The function must not block. Only one caller may pass it; the others pass nil.
func (m *Member) Start(onNumber func(number int)) (stop func()) {
	m.running.Lock()
	defer m.running.Unlock()
	if onNumber != nil {
		m.mu.Lock()
		m.onNumber = onNumber
		if m.number > 0 {
			onNumber(m.number)
		}
		m.mu.Unlock()
	}
	if m.users++; m.users == 1 {
		life, end := context.WithCancel(context.Background())
		m.end = end
		m.works.Go(func() { m.run(life) })
	}
	return sync.OnceFunc(m.stop)
}

func (m *Member) stop() {
	m.running.Lock()
	defer m.running.Unlock()
	if m.users--; m.users > 0 {
		return
	}
	m.end()
	m.works.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = m.coordinator.Leave(ctx, m.config.Group, m.own) // after an error, the membership expires by itself
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count = Count{} // a later Start joins again
}

// run beats until life ends.
func (m *Member) run(life context.Context) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		ctx, cancel := context.WithTimeout(life, Interval)
		_ = m.Beat(ctx) // after an error the number becomes old until a later beat succeeds
		cancel()
		select {
		case <-ticker.C:
		case <-m.early:
		case <-life.Done():
			return
		}
	}
}

// Hurry starts the next beat at once. Call it when the store was unavailable, because it may have lost data. It does
// not block.
func (m *Member) Hurry() {
	select {
	case m.early <- struct{}{}:
	default:
	}
}

// Beat sends a beat, and reads the markers. One master of a Cluster may be unavailable, so Beat returns an error only
// if the beat failed or no marker was read.
func (m *Member) Beat(ctx context.Context) error {
	sent := time.Now()
	names, err := m.coordinator.Beat(ctx, m.config.Group, m.own, Life)
	full := errors.Is(err, engine.ErrGroupFull)
	if err != nil && !full {
		return err
	}
	m.observe(names, full)
	return m.look(ctx, func() {
		if !full {
			m.counted(sent, len(names))
		}
	})
}

// observe stores the answer to a beat. The number is known from then on, even if no marker can be read, because one
// master of a Cluster may be unavailable (regression: bug 61). If the group is full, the process is not a member.
func (m *Member) observe(names []string, full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.number = engine.MaxMembers; !full {
		m.number, m.names = len(names), names
	}
	if m.onNumber != nil {
		m.onNumber(m.number)
	}
}

// counted stores the number of processes that a beat returned. The group's marker must have been read.
func (m *Member) counted(sent time.Time, number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); !now.Before(m.count.Sent.Add(Life)) {
		m.count.Since = now // the membership may have expired
	}
	if sent.After(m.count.Sent) {
		m.count.Number, m.count.Sent = number, sent
	}
}

// Count returns the number of processes from the last beat that was followed by a successful read of the group's
// marker.
func (m *Member) Count() Count {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// Members returns the name of this process in its group, and the sorted names of all members from the last answered
// beat: up to [engine.MaxMembers].
func (m *Member) Members() (own string, all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own, slices.Clone(m.names)
}

// Now returns the time of [Config].Clock.
func (m *Member) Now() time.Time { return m.config.Clock() }
