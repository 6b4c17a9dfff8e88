package prefetch

import (
	"context"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// members counts the processes that share the limits.
//
// A process that joins waits until every other one counts it, or can no longer use its old number: no process uses a
// number older than two beats, and none takes units ahead before two beats and a life have passed since it joined. A
// process that is gone is counted until its membership expires, which is longer than its units live.
//
// A process whose membership may have expired joins again, because the others may have counted without it in the
// meantime. All processes do so if the coordinator has lost the group. The loss shows in the version of a value with
// the group's name.
type members struct {
	coordinator engine.Coordinator
	group, own  string
	beat, life  time.Duration

	mu     sync.Mutex
	number int
	fresh  time.Time // the number may be used until then
	ready  time.Time // and from then on
	ends   time.Time // the earliest expiry of the membership
	epoch  int64     // of the group
}

// run beats until ctx ends.
func (m *members) run(ctx context.Context) {
	ticker := time.NewTicker(m.beat)
	defer ticker.Stop()
	for {
		m.once(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// lives is the number of beats for which a member is counted after its last one.
const lives = 4

func (m *members) once(ctx context.Context) {
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, m.beat)
	defer cancel()
	names, err := m.coordinator.Beat(ctx, m.group, m.own, lives*m.beat)
	if err != nil {
		return // the number becomes too old to use
	}
	epoch, err := m.current(ctx)
	if err != nil {
		return
	}
	m.heard(sent, time.Now(), len(names), epoch)
}

// current returns the group's epoch, and creates one if needed. It runs after the beat, so that a number from after a
// loss of the group comes with another epoch.
func (m *members) current(ctx context.Context) (epoch int64, err error) {
	_, epoch, err = m.coordinator.Get(ctx, m.group)
	if err != nil || epoch != 0 {
		return epoch, err
	}
	epoch, _, err = m.coordinator.CompareAndSet(ctx, m.group, 0, m.own)
	return epoch, err
}

// heard records the answer to a beat.
func (m *members) heard(sent, now time.Time, number int, epoch int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch != m.epoch || !now.Before(m.ends) {
		m.ready, m.epoch = now.Add(2*m.beat+m.life), epoch
	}
	m.number, m.fresh, m.ends = number, sent.Add(2*m.beat), sent.Add(lives*m.beat)
}

// count returns the number of processes; known is false if it is not known.
func (m *members) count(now time.Time) (n int, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Before(m.ready) || !now.Before(m.fresh) {
		return 0, false
	}
	return m.number, true
}

// leave removes the process from the group.
func (m *members) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = m.coordinator.Leave(ctx, m.group, m.own) // after an error, the membership expires by itself
}
