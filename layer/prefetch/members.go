package prefetch

import (
	"context"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// members is how many processes share the limits.
//
// A process that joins waits until every other one counts it, or has given up
// what it knows: no process uses a number that is older than two beats, and none
// takes units before two beats and a life have gone by since it joined. A process
// that is gone is counted until its life in the group is over, which is longer
// than what it holds lives.
//
// A process whose life in the group may have ended joins anew, and so do all
// where the coordinator lost the group: the others may have counted without it
// meanwhile. That the group was lost shows in a value of the group's name, whose
// version changes then.
type members struct {
	coordinator engine.Coordinator
	group, own  string
	beat, life  time.Duration

	mu     sync.Mutex
	number int
	fresh  time.Time // until when the number may be used
	ready  time.Time // from when
	ends   time.Time // when the life in the group ends at the earliest
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

// lives is for how many beats a member counts after its last.
const lives = 4

func (m *members) once(ctx context.Context) {
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, m.beat)
	defer cancel()
	names, err := m.coordinator.Beat(ctx, m.group, m.own, lives*m.beat)
	if err != nil {
		return // what is known gets old
	}
	epoch, err := m.current(ctx)
	if err != nil {
		return
	}
	m.heard(sent, time.Now(), len(names), epoch)
}

// current returns the group's epoch, and begins one where there is none. It is
// asked for after the beat: a number from after the group was lost then comes
// with another epoch.
func (m *members) current(ctx context.Context) (epoch int64, err error) {
	_, epoch, err = m.coordinator.Get(ctx, m.group)
	if err != nil || epoch != 0 {
		return epoch, err
	}
	epoch, _, err = m.coordinator.CompareAndSet(ctx, m.group, 0, m.own)
	return epoch, err
}

// heard notes the answer to a beat.
func (m *members) heard(sent, now time.Time, number int, epoch int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch != m.epoch || !now.Before(m.ends) {
		m.ready, m.epoch = now.Add(2*m.beat+m.life), epoch
	}
	m.number, m.fresh, m.ends = number, sent.Add(2*m.beat), sent.Add(lives*m.beat)
}

// count returns how many processes there are, where that is known.
func (m *members) count(now time.Time) (n int, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Before(m.ready) || !now.Before(m.fresh) {
		return 0, false
	}
	return m.number, true
}

// leave tells the others.
func (m *members) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = m.coordinator.Leave(ctx, m.group, m.own) // or its life in the group ends
}
