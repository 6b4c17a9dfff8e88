package chaos

import (
	"cmp"
	"slices"
	"syscall"
	"time"

	"github.com/headgate/headgate/lab/redistest"
)

// action is the beginning or the end of a fault.
type action struct {
	at  time.Duration
	act func()
}

// failing holds the functions that begin and end a fault. The end function returns when the processes can work again.
type failing struct{ begin, end func() }

// actions returns the actions on the world in order. It omits a fault if its target is still affected by another fault.
func (w *world) actions() (all []action) {
	busy := map[int]time.Duration{}
	for _, e := range w.schedule.Events {
		if e.At < busy[e.Process] {
			continue
		}
		busy[e.Process] = e.At + e.Lasts + 500*time.Millisecond
		f, s := w.fault(e), struck{event: e}
		all = append(all,
			action{e.At, func() {
				s.from = w.callers.now()
				if e.Fault == masterAway {
					s.keys = w.keysOf(hot())
				}
				f.begin()
				if e.Fault == failover { // the begin function of a failover returns only after another primary exists
					s.primary = w.callers.now()
				}
			}},
			action{e.At + e.Lasts, func() {
				f.end()
				s.to = w.callers.now()
				if e.Fault == killed {
					s.primary = s.to
				}
				if e.Fault == parted {
					s.primary = w.elected
				}
				w.happened.faults = append(w.happened.faults, s)
				w.remember(s)
			}})
	}
	slices.SortStableFunc(all, func(a, b action) int { return cmp.Compare(a.at, b.at) })
	return all
}

// remember records when a fault may have lost data, left two primaries or restarted a process, for the audit.
func (w *world) remember(s struck) {
	// A primary that comes back considers itself the primary until other nodes tell it otherwise.
	const told = 2 * time.Second
	switch s.Fault {
	case emptied, older:
		w.happened.losses = append(w.happened.losses, s.span)
		w.happened.emptied = append(w.happened.emptied, s.span)
	case failover, hungPrimary, parted:
		w.happened.losses = append(w.happened.losses, span{s.from, s.to + told})
		both := span{s.to, s.to + told}
		if s.Fault == parted { // each primary answers on its own side
			both.from = s.from
		}
		w.happened.twice = append(w.happened.twice, both)
	case processDies:
		w.happened.restarts = append(w.happened.restarts, restart{s.Process, s.span})
	case restarting:
		w.happened.restarts = append(w.happened.restarts, restart{restarted, s.span})
	}
}

func nothing() {}

// restarted is the process that restarts while Redis is away. It starts about as often as a process that restarts
// hourly under a daily limit: the policy with the longest period has 15 s.
const restarted = 0

// fault returns the functions that begin and end a fault in the schedule.
func (w *world) fault(e event) failing {
	switch e.Fault {
	case processDies:
		return failing{w.processes[e.Process].kill, w.processes[e.Process].start}
	case processHung:
		p := w.processes[e.Process]
		return failing{func() { p.signal(syscall.SIGSTOP) }, func() { p.signal(syscall.SIGCONT) }}
	case versions:
		p := w.processes[e.Process]
		return failing{func() { p.write(true) }, func() { p.write(false) }}
	}
	if e.Process >= 0 {
		return w.proxyFault(e, w.proxies[e.Process])
	}
	switch w.schedule.Deployment {
	case sentinel:
		return w.sentinelFault(e)
	case cluster:
		return w.clusterFault(e)
	default:
		return w.serverFault(e, w.server)
	}
}

func (w *world) proxyFault(e event, p *proxy) failing {
	both := func(kind, attributes string) func() {
		return func() {
			p.spoil(kind, "upstream", attributes)
			p.spoil(kind, "downstream", attributes)
		}
	}
	switch e.Fault {
	case cut:
		return failing{p.server.Stop, p.start}
	case halfOpen: // bytes are dropped, and neither end notices
		return failing{both("timeout", `"timeout":0`), p.heal}
	case slowed:
		return failing{both("latency", `"latency":30,"jitter":25`), p.heal}
	case narrow:
		return failing{both("bandwidth", `"rate":4`), p.heal} // in KB/s
	default: // cutReply: each connection ends after a few bytes
		return failing{func() { p.spoil("limit_data", "downstream", `"bytes":500`) }, p.heal}
	}
}

func (w *world) serverFault(e event, s *redistest.Server) failing {
	switch e.Fault {
	case killed:
		return failing{s.Kill, s.Start}
	case emptied:
		return failing{s.Kill, func() { s.Wipe(); s.Start() }}
	case older:
		return failing{s.Keep, func() { s.Kill(); s.Restore(); s.Start() }}
	case hung:
		return failing{s.Pause, s.Resume}
	case flapping:
		return flaps(s)
	case flushed:
		return failing{func() { s.MustDo("script", "flush") }, nothing}
	case restarting:
		every := again(150*time.Millisecond, w.processes[restarted].kill, w.processes[restarted].start)
		return failing{func() { s.Kill(); every.begin() }, func() { every.end(); s.Start() }}
	case stepped:
		return failing{func() { w.step(e.By, e.By) }, func() { w.step(0, -e.By) }}
	case full:
		return failing{func() { s.MustDo("config", "set", "maxmemory", "1") }, func() { s.MustDo("config", "set", "maxmemory", "0") }}
	default: // password
		return failing{
			func() {
				s.MustDo("config", "set", "requirepass", "changed")
				s.MustDo("client", "kill", "type", "normal", "skipme", "yes")
			},
			func() { s.MustDo("config", "set", "requirepass", "") },
		}
	}
}

// flaps pauses and resumes a server repeatedly, each time before the processes have recovered.
func flaps(s *redistest.Server) failing { return again(150*time.Millisecond, s.Pause, s.Resume) }

// again repeats two turns, each followed by a pause.
func again(pause time.Duration, turns ...func()) failing {
	end, ended := make(chan struct{}), make(chan struct{})
	return failing{func() {
		go func() {
			defer close(ended)
			for {
				for _, turn := range turns {
					turn()
					time.Sleep(pause)
				}
				select {
				case <-end:
					return
				default:
				}
			}
		}()
	}, func() { close(end); <-ended }}
}

// step sets Redis's clock to the given time ahead of real time. The by argument is the size of the step.
func (w *world) step(ahead, by time.Duration) {
	from := w.callers.now()
	w.server.Step(ahead)
	w.happened.steps = append(w.happened.steps, step{span{from, w.callers.now()}, by})
}

func (w *world) sentinelFault(e event) failing {
	s := w.sentinels
	switch e.Fault {
	case failover:
		return failing{
			func() { w.down = s.Primary(); s.KillPrimary() },
			func() { w.down.Start() },
		}
	case hungPrimary:
		return failing{func() { w.down = s.Primary(); w.down.Pause() }, func() { w.down.Resume() }}
	default:
		return failing{func() { s.Primary().MustDo("script", "flush") }, nothing}
	}
}

// hot returns the Redis key of a counter that callers use all the time.
func hot() string { return windowKey("fixed-local") }

// keysOf returns the keys of callers whose slots are on the same primary as the given key. It returns nil if all are.
func (w *world) keysOf(key string) (keys []string) {
	_, primary := w.nodes.Of(key)
	all := append([]string{"k0", leftKey, tardyKey}, listKeys...)
	for i := range processCount {
		all = append(all, ownKey(i))
	}
	return slices.DeleteFunc(all, func(key string) bool {
		_, of := w.nodes.Of(key)
		return of != primary
	})
}

func (w *world) clusterFault(e event) failing {
	c := w.nodes
	switch e.Fault {
	case failover:
		return failing{func() { w.down = c.KillPrimaryOf(hot()) }, func() { w.down.Start() }}
	case hungPrimary:
		return failing{func() { _, w.down = c.Of(hot()); w.down.Pause() }, func() { w.down.Resume() }}
	case parted:
		return w.partition()
	case masterAway:
		return failing{func() { w.down = c.Hang(hot()) }, func() { c.Recover(w.down) }}
	case resharded:
		var move *redistest.Move
		return failing{func() { move = c.Migrate(hot()); move.MoveKeys(3) }, func() { move.Settle() }}
	default:
		return failing{func() {
			for _, s := range c.Primaries() {
				s.MustDo("script", "flush")
			}
		}, nothing}
	}
}
