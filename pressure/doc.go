// Package pressure detects that a process is running short of CPU time or memory, so that less important requests can
// be denied before all requests become slow.
//
// A [Gate] reads three signals four times a second, each from 0 to 1000:
//
//   - throttled: the proportion of the scheduler's periods when the container had exhausted its CPU quota. 500 or
//     more of 1000 periods is full pressure.
//   - memory: the container's memory use without the page cache, compared with its limit, or the Go runtime's memory
//     use, compared with GOMEMLIMIT. Pressure begins at 80 % and is full at 95 %.
//   - waiting: how long goroutines wait for a processor. Pressure begins at a 99th percentile of 10 ms and is full at
//     100 ms. It counts only while the process itself uses four fifths of its processors, so other processes on the
//     machine that take CPU time cause no pressure.
//
// The largest signal determines the level: 0 is no pressure and [Full] is 4. The level rises immediately, and falls
// by one step after four consecutive lower readings. A signal is absent if its files or functions are missing.
// [Gate.Missing] lists the absent signals.
//
// Levels are for classes of requests: see [github.com/headgate/headgate/policy/decide.WithPressure] and
// docs/pressure.md.
//
//	gate.go      the goroutine that reads, and the level
//	signal.go    computes signals from two readings, and a level from signals
//	cgroup.go    the files of control groups, version 1 and 2
//	process.go   the process's own CPU time, memory limit and waiting goroutines
package pressure
