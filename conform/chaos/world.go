package chaos

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/conform/programs"
	"github.com/headgate/headgate/conform/redistest"
)

// stale is the --max-stale of the processes but for the first, which has none.
const stale = 300 * time.Millisecond

// world is the store and the processes of a seed.
type world struct {
	t          testing.TB
	schedule   schedule
	server     *redistest.Server // standalone
	sentinels  *redistest.Sentinels
	nodes      *redistest.Nodes
	proxies    []*proxy
	processes  []*process
	happened   happened
	callers    *callers
	down       *redistest.Server // that a fault has killed or stopped
	goroutines float64           // of the busiest process before the faults
	files      float64
	works      sync.WaitGroup
	early      []violation // of watchExpiry; read after its end
}

// newWorld starts them.
func newWorld(t testing.TB, s schedule) *world {
	t.Helper()
	w := &world{t: t, schedule: s, happened: happened{stale: stale}}
	program, store := programs.Headgate(t), ""
	switch s.Deployment {
	case sentinel:
		w.sentinels = redistest.Sentinel(t, redistest.Redis)
		store = "redis+sentinel://" + strings.Join(w.sentinels.Addrs(), ",") + "/" + w.sentinels.MasterName
	case cluster:
		w.nodes = redistest.Cluster(t, redistest.Redis)
		store = "redis+cluster://" + strings.Join(w.nodes.Addrs(), ",")
	default:
		// A server that is killed comes back with all that it has answered.
		w.server = redistest.Standalone(t, redistest.Redis, "appendonly yes", "appendfsync always")
	}
	for i := range processCount {
		own := store
		if w.server != nil {
			w.proxies = append(w.proxies, newProxy(t, fmt.Sprint(i), w.server.Addr()))
			own = "redis://" + w.proxies[i].addr()
		}
		var more []string
		if i > 0 {
			more = []string{"--max-stale", stale.String()}
		}
		w.processes = append(w.processes, newProcess(t, program, own, more...))
	}
	return w
}

// run strikes the faults of the schedule while callers send requests, and waits for the
// end of both.
func (w *world) run() {
	w.t.Helper()
	w.callers = newCallers()
	w.happened.wall = w.callers.began.Round(0)
	for i, p := range w.processes {
		w.callers.call(i, p, w.schedule.Seed)
	}
	if w.server != nil {
		w.works.Go(w.watchExpiry)
	}
	w.until(settling - time.Second)
	for _, p := range w.processes {
		goroutines, files := p.load()
		w.goroutines, w.files = max(w.goroutines, goroutines), max(w.files, files)
	}
	for _, a := range w.actions() {
		w.until(a.at)
		a.act()
	}
	w.until(w.schedule.Span)
	w.callers.end()
	w.works.Wait()
}

// until waits for a time of the schedule.
func (w *world) until(at time.Duration) { time.Sleep(at - w.callers.now()) }

// end ends the processes, after it has checked that they hold no more goroutines and files
// than before the faults.
func (w *world) end() (leaks []violation) {
	w.t.Helper()
	// Requests whose connection hung, and connections that are given up, take their time.
	const idle = 20 * time.Second
	for i, p := range w.processes {
		for end := time.Now().Add(idle); ; time.Sleep(250 * time.Millisecond) {
			goroutines, files := p.load()
			if goroutines <= w.goroutines && files <= w.files {
				break
			}
			if time.Now().After(end) {
				text := fmt.Sprintf("process %d has %.0f goroutines and %.0f files, and %.0f and %.0f were enough under load", i, goroutines, files, w.goroutines, w.files)
				leaks = append(leaks, violation{"leaked", text})
				break
			}
		}
		p.stop()
	}
	return leaks
}
