package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/lab/redistest"
)

// These constants name the Redis deployments.
const (
	standalone = "standalone"
	sentinel   = "sentinel"
	cluster    = "cluster"
)

var deployments = []string{standalone, sentinel, cluster}

// The faults.
const (
	killed      = "redis killed"
	restarting  = "restarts meanwhile" // one process restarts again and again while Redis is down
	emptied     = "redis empty"
	older       = "redis older"
	hung        = "redis hangs"
	flapping    = "redis flaps"
	flushed     = "scripts flushed"
	full        = "maxmemory"
	password    = "password changed"
	failover    = "failover"
	hungPrimary = "primary hangs"
	resharded   = "slot moves"
	parted      = "cluster parted"
	masterAway  = "master away" // without a failover
	stepped     = "clock step"
	cut         = "process cut off"
	halfOpen    = "half-open"
	slowed      = "latency"
	cutReply    = "cut mid-reply"
	narrow      = "bandwidth"
	processDies = "process killed"
	processHung = "process hangs"
	versions    = "two versions"
)

// storeFaults lists the faults of the store, by deployment. Only one of them is active at a time.
var storeFaults = map[string][]string{
	standalone: {killed, emptied, hung, flushed, full, older, flapping, password, stepped, restarting},
	sentinel:   {failover, hungPrimary, flushed},
	cluster:    {failover, hungPrimary, resharded, flushed, parted, masterAway},
}

// processFaults lists the faults of a single process. The faults of its proxy come first.
var processFaults = map[string][]string{
	standalone: {cut, halfOpen, slowed, cutReply, narrow, processDies, processHung, versions},
	sentinel:   {processDies, processHung, versions},
	cluster:    {processDies, processHung, versions},
}

// event is one fault of a schedule. Process is -1 for a fault of the store.
type event struct {
	Fault   string
	Process int
	At      time.Duration
	Lasts   time.Duration
	// By is the size of a clock step. It is negative for a step back.
	By time.Duration `json:",omitzero"`
}

func (e event) String() string {
	on := "store"
	if e.Process >= 0 {
		on = fmt.Sprintf("process %d", e.Process)
	}
	text := fmt.Sprintf("%6.1fs %-16s on %-9s for %4.1fs", e.At.Seconds(), e.Fault, on, e.Lasts.Seconds())
	if e.By != 0 {
		text += fmt.Sprintf(" by %s", e.By)
	}
	return text
}

// schedule holds a seed's setup and faults.
type schedule struct {
	Seed       uint64
	Deployment string
	// Flavor is the kind of the store's servers.
	Flavor redistest.Flavor
	Span   time.Duration
	Events []event
}

func (s schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s for %s\n", s.Seed, s.Deployment, s.Span)
	for _, e := range s.Events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

const (
	settling = 3 * time.Second // time before the first fault
	calm     = 5 * time.Second // time after the last fault of the store; another fault, of a process, may last 4 s longer
	// believes is the time after a data loss in which no other fault begins, so that the seed can check whether the
	// processes trust the store.
	believes = 12 * time.Second
)

// windowKey returns the Redis key that stores the fixed window of "k0", the policy's first key.
func windowKey(policy string) string {
	return "hg/" + policy + "/fw1s:clock/{k0}"
}

// plan returns the schedule for a seed. Seeds cycle through the deployments and the order of faults, so that a few
// consecutive seeds cover them all.
func plan(seed uint64, deployment string, span time.Duration) schedule {
	if deployment == "" {
		deployment = deployments[seed%uint64(len(deployments))]
	}
	s := schedule{Seed: seed, Deployment: deployment, Span: span}
	random := rand.New(rand.NewPCG(seed, 15))
	turn := int(seed / uint64(len(deployments)))
	free := settling
	for n := 0; ; n++ {
		faults := storeFaults[deployment]
		e := event{Fault: faults[(turn*3+n/2)%len(faults)], Process: -1}
		if n%2 == 1 {
			faults = processFaults[deployment]
			e = event{Fault: faults[(turn*5+n/2)%len(faults)], Process: random.IntN(processCount)}
		}
		e.At, e.Lasts = free+between(random, 0, 500), lasts(random, e.Fault)
		e.By = by(random, e.Fault)
		end := e.At + e.Lasts
		if e.Fault == emptied || e.Fault == older {
			end += believes
		}
		if end+calm > span && n > 0 {
			break
		}
		s.Events = append(s.Events, e)
		free = end + between(random, 500, 2000)
		if e.Process >= 0 || random.IntN(2) > 0 || e.Fault == emptied || e.Fault == older || e.Fault == restarting {
			continue
		}
		// In addition to the store's fault, a fault affects one process.
		faults = processFaults[deployment]
		over := event{Fault: faults[random.IntN(len(faults))], Process: random.IntN(processCount)}
		over.At, over.Lasts = e.At+between(random, 0, e.Lasts.Milliseconds()), lasts(random, over.Fault)
		if e.Fault == password && over.Fault == processDies {
			// A process that starts with a wrong password reports the error and exits, so it must start after the
			// password fault.
			over.Lasts = max(over.Lasts, e.At+e.Lasts+200*time.Millisecond-over.At)
		}
		s.Events = append(s.Events, over)
		free = max(free, over.At+over.Lasts+time.Second)
	}
	slices.SortStableFunc(s.Events, func(a, b event) int { return cmp.Compare(a.At, b.At) })
	return s
}

// short returns the schedules for a test run without flags. They contain the faults that have most often broken
// limiters' promises. They last half a minute, or a quarter of a minute on a Cluster, where limits span several slots.
func short() []schedule {
	at := func(fault string, process int, at, lasts float64) event {
		return event{Fault: fault, Process: process, At: time.Duration(at * float64(time.Second)), Lasts: time.Duration(lasts * float64(time.Second))}
	}
	return []schedule{
		{Deployment: standalone, Span: 28 * time.Second, Events: []event{
			at(versions, 1, 3, 3), at(cutReply, 2, 3.3, 2.3), at(restarting, -1, 6, 3.6), at(halfOpen, 0, 10.2, 1.2), at(older, -1, 12, 1.6), at(versions, 0, 18.5, 4.5),
		}},
		{Deployment: cluster, Span: 17 * time.Second, Events: []event{at(masterAway, -1, 2.5, 3), at(resharded, -1, 9.5, 0.1), at(failover, -1, 10.5, 2.5)}},
	}
}

func between(random *rand.Rand, low, high int64) time.Duration {
	return time.Duration(low+random.Int64N(max(1, high-low))) * time.Millisecond
}

// lasts draws the duration of a fault. Some faults end at once.
func lasts(random *rand.Rand, fault string) time.Duration {
	switch fault {
	case flushed, resharded:
		return 100 * time.Millisecond
	case hungPrimary, failover, parted:
		return between(random, 2500, 4000)
	case versions:
		return between(random, 2000, 4000)
	case older: // charges made during this fault are lost
		return between(random, 1500, 3000)
	case masterAway, restarting: // longer than most limits' periods
		return between(random, 4000, 7000)
	case killed, cut, flapping: // sometimes longer than the limits' periods
		return between(random, 300, 5000)
	default:
		return between(random, 300, 2500)
	}
}

// steps lists the sizes of clock steps. Some are shorter and some longer than the limits' spans.
var steps = []time.Duration{300 * time.Millisecond, 5 * time.Second, -300 * time.Millisecond, -1200 * time.Millisecond, -5 * time.Second, -20 * time.Second}

// by draws the size of the clock step. It returns 0 for a fault that does not step the clock.
func by(random *rand.Rand, fault string) time.Duration {
	if fault != stepped {
		return 0
	}
	return steps[random.IntN(len(steps))]
}

// has reports whether the schedule contains a fault of the given kind.
func (s schedule) has(fault string) bool {
	return slices.ContainsFunc(s.Events, func(e event) bool { return e.Fault == fault })
}

// only returns the schedule with all its faults replaced by the given kind.
func (s schedule) only(fault string) schedule {
	lists := [][]string{storeFaults[s.Deployment], processFaults[s.Deployment]}
	random := rand.New(rand.NewPCG(s.Seed, 16))
	s.Events = nil
	for at := settling; ; {
		e := event{Fault: fault, Process: -1, At: at, Lasts: lasts(random, fault), By: by(random, fault)}
		if slices.Contains(lists[1], fault) {
			e.Process = random.IntN(processCount)
		} else if !slices.Contains(lists[0], fault) {
			return s
		}
		end := e.At + e.Lasts
		if fault == emptied || fault == older {
			end += believes
		}
		if end+calm > s.Span && len(s.Events) > 0 {
			return s
		}
		s.Events = append(s.Events, e)
		at = end + between(random, 700, 1500)
	}
}
