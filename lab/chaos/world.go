package chaos

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/programs"
	"github.com/headgate/headgate/lab/redistest"
)

// world is a seed's store and processes.
type world struct {
	t         testing.TB
	schedule  schedule
	url       string            // for a program that is not affected by faults
	server    *redistest.Server // standalone
	sentinels *redistest.Sentinels
	nodes     *redistest.Nodes
	proxies   []*proxy
	processes []*process
	happened  happened
	callers   *callers
	down      *redistest.Server // stopped or killed by a fault
	enough    use               // the busiest process's resource usage before the faults
	works     sync.WaitGroup
	early     []violation // from watchExpiry; read only after it has ended
	swollen   []violation // from watchMemory; read only after it has ended
	minority  []violation // primaries that continued after they were cut off
	sampler   *sampler
	elected   time.Duration // when the majority of a partitioned Cluster had elected another primary
}

// newWorld starts the servers and processes.
func newWorld(t testing.TB, s schedule) *world {
	t.Helper()
	w := &world{t: t, schedule: s}
	program, store := programs.Headgate(t), ""
	switch s.Deployment {
	case sentinel:
		w.sentinels = redistest.Sentinel(t, s.Flavor)
		store = "redis+sentinel://" + strings.Join(w.sentinels.Addrs(), ",") + "/" + w.sentinels.MasterName
	case cluster:
		w.nodes = newNodes(t, s)
		store = "redis+cluster://" + strings.Join(w.nodes.Addrs(), ",")
	default:
		// After the server is killed, it must come back with all writes that it acknowledged.
		start := redistest.Standalone
		if s.has(stepped) {
			start = redistest.SteppedClock
		}
		w.server = start(t, s.Flavor, "appendonly yes", "appendfsync always")
	}
	w.url = store
	if w.server != nil {
		w.url = "redis://" + w.server.Addr()
	}
	for i := range processCount {
		own := store
		if w.server != nil {
			w.proxies = append(w.proxies, newProxy(t, fmt.Sprint(i), w.server.Addr()))
			own = "redis://" + w.proxies[i].addr()
		}
		w.processes = append(w.processes, newProcess(t, program, own))
	}
	return w
}

// newNodes starts the Cluster. If it will be partitioned, its nodes are connected through listeners in this process.
// Other Clusters connect directly, which is faster.
func newNodes(t testing.TB, s schedule) *redistest.Nodes {
	t.Helper()
	if s.has(parted) {
		return redistest.PartibleCluster(t, s.Flavor)
	}
	return redistest.Cluster(t, s.Flavor)
}

// run applies the faults in the schedule while callers send requests, and waits for both to finish.
func (w *world) run() {
	w.t.Helper()
	w.callers = newCallers(w.schedule.Span)
	w.happened.wall = w.callers.began.Round(0)
	stalls := watchStalls(w.callers.now)
	w.sampler = newSampler(w)
	w.works.Go(w.sampler.run)
	for i, p := range w.processes {
		w.callers.call(i, p, w.schedule.Seed)
	}
	waiting, tardy := newProgram(w.t, w.url), newProgram(w.t, w.url)
	w.callers.wait(waiting, w.schedule.Seed)
	w.callers.leave(waiting, w.schedule.Seed)
	w.callers.comeLate(tardy)
	if w.server != nil {
		w.works.Go(w.watchExpiry)
	}
	w.until(settling - time.Second)
	for _, p := range w.processes {
		u, err := p.use()
		if err != nil {
			w.t.Fatal(err)
		}
		w.enough = use{max(w.enough.goroutines, u.goroutines), max(w.enough.files, u.files), max(w.enough.memory, u.memory)}
	}
	w.works.Go(w.watchMemory)
	for _, a := range w.actions() {
		w.until(a.at)
		a.act()
	}
	w.until(w.schedule.Span)
	w.callers.end()
	for _, p := range []*program{waiting, tardy} {
		if err := p.close(); err != nil {
			w.t.Errorf("a Go program: %v", err)
		}
	}
	w.works.Wait()
	w.happened.stalls = stalls.end()
}

// until waits for the given time in the schedule.
func (w *world) until(at time.Duration) { time.Sleep(at - w.callers.now()) }

// watchMemory polls the memory usage of the running processes, and records the first process that exceeds its bound. It
// skips processes that are stopped or killed, because they do not answer.
func (w *world) watchMemory() {
	for !w.callers.stop.Load() {
		time.Sleep(time.Second)
		for i, p := range w.processes {
			if u, err := p.use(); err == nil && u.memory > w.enough.memory+growth {
				w.swollen = append(w.swollen, violation{"memory", fmt.Sprintf("process %d uses %s at %s, and %s were enough before the faults", i, u, seconds(w.callers.now()), w.enough)})
				return
			}
		}
	}
}

// end stops the processes. First it checks that they use no more goroutines and open files than before the faults.
func (w *world) end() (leaks []violation) {
	w.t.Helper()
	// Requests on hanging connections, and abandoned connections, take some time to end.
	const idle = 20 * time.Second
	for i, p := range w.processes {
		for end := time.Now().Add(idle); ; time.Sleep(250 * time.Millisecond) {
			u, err := p.use()
			if err != nil {
				w.t.Errorf("metrics of process %d: %v\n%s", i, err, p.lastLines())
			}
			if !u.exceeds(w.enough) {
				break
			}
			if time.Now().After(end) {
				leaks = append(leaks, violation{"leaked", fmt.Sprintf("process %d has %s, and %s were enough under load", i, u, w.enough)})
				break
			}
		}
		p.stop()
	}
	return leaks
}
