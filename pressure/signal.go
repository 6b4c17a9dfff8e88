package pressure

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// Full is the highest level.
const Full = engine.FullPressure

// Signal is one measure of pressure.
type Signal struct {
	// Name is throttled, memory or waiting.
	Name string
	// Value ranges from 0 for no pressure to 1000 for full pressure.
	Value int
}

const (
	full          = 1000 // the highest value of a signal
	throttledFull = 500  // of 1000 periods
	memoryFrom    = 800  // of 1000 parts of the limit
	memoryFull    = 950
	waitFrom      = 10 * time.Millisecond
	waitFull      = 100 * time.Millisecond
	ownFrom       = 800 // of 1000 parts of its processors, used by the process itself
	calmReadings  = 4   // number of lower readings before the level falls
)

// reading contains the numbers at one instant. Counters never decrease. A negative number is unknown.
type reading struct {
	at                 time.Time
	periods, throttled int64         // periods of the CPU quota
	memory, limit      int64         // bytes
	cpu                time.Duration // CPU time used by the process
	processors         float64       // number available to the process
	// waits counts goroutines by how long they waited for a processor. bounds are the upper bounds in seconds.
	waits  []uint64
	bounds []float64
}

// signals computes the signals from two readings.
func signals(before, now *reading) (all []Signal) {
	if periods := now.periods - before.periods; now.periods >= 0 && before.periods >= 0 {
		value := 0
		if periods > 0 {
			value = scaled((now.throttled-before.throttled)*full/periods, 0, throttledFull)
		}
		all = append(all, Signal{"throttled", value})
	}
	if now.limit > 0 && now.memory >= 0 {
		all = append(all, Signal{"memory", scaled(int64(float64(now.memory)/float64(now.limit)*full), memoryFrom, memoryFull)})
	}
	if len(now.waits) > 0 && len(now.waits) == len(before.waits) && now.cpu >= 0 {
		value := 0
		if elapsed := now.at.Sub(before.at).Seconds() * now.processors; elapsed > 0 && (now.cpu-before.cpu).Seconds()*full >= ownFrom*elapsed {
			value = scaled(int64(longWait(before, now)), waitFrom.Microseconds(), waitFull.Microseconds())
		}
		all = append(all, Signal{"waiting", value})
	}
	return all
}

// longWait returns the 99th percentile of the waits between two readings, in µs, rounded up to a bucket's bound.
func longWait(before, now *reading) float64 {
	var all, seen uint64
	for i := range now.waits {
		all += now.waits[i] - before.waits[i]
	}
	for i := range now.waits {
		if seen += now.waits[i] - before.waits[i]; seen*100 >= all*99 {
			return min(now.bounds[i]*1e6, 1e12) // the last bound is infinite
		}
	}
	return 0
}

// scaled maps the range from..to onto 0..1000.
func scaled(value, from, to int64) int {
	return int(max(0, min(full, (value-from)*full/(to-from))))
}

// level holds the current level, and the number of consecutive readings that called for a lower level.
type level struct{ now, calm int }

// follow updates the level with the signals of one reading.
func (l *level) follow(all []Signal) {
	most := 0
	for _, s := range all {
		most = max(most, s.Value)
	}
	switch wanted := (most + full/Full - 1) / (full / Full); { // any pressure means at least level 1
	case wanted >= l.now:
		l.now, l.calm = wanted, 0
	case l.calm+1 < calmReadings:
		l.calm++
	default:
		l.now, l.calm = l.now-1, 0
	}
}
