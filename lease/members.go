package lease

import (
	"context"
	"sync"
	"time"

	"github.com/headgate/headgate"
)

// members is how many processes share the limits.
//
// A process that comes waits until all others know of it, or have given up what
// they know: nobody goes by a number that is older than two beats, and nobody
// takes anything before two beats and a life have gone by since its own first.
// A process that is gone is counted until its life in the group is over, which
// is longer than what it holds lives.
type members struct {
	coordinator headgate.Coordinator
	group, own  string
	beat, life  time.Duration

	mu     sync.Mutex
	number int
	fresh  time.Time // until when the number may be used
	ready  time.Time // from when
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
	m.mu.Lock()
	defer m.mu.Unlock()
	m.number, m.fresh = len(names), sent.Add(2*m.beat)
	if m.ready.IsZero() {
		m.ready = time.Now().Add(2*m.beat + m.life)
	}
}

// count returns how many processes there are, where that is known.
func (m *members) count(now time.Time) (n int, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ready.IsZero() || now.Before(m.ready) || !now.Before(m.fresh) {
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
