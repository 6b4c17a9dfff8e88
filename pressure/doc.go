// Package pressure detects that a process runs short of CPU time or memory, so that less important requests can be
// denied before all requests are slow.
//
// A [Gate] reads three signals four times a second, each from 0 to 1000:
//
//   - throttled: the part of the scheduler's periods in which the container had used its CPU quota. 500 and more of
//     1000 periods is full pressure.
//   - memory: how near the container's memory is to its limit, without the cache of files, or the runtime's to
//     GOMEMLIMIT. It begins at 80 % and is full at 95 %.
//   - waiting: how long goroutines wait for a processor. It begins with a 99th percentile of 10 ms and is full at
//     100 ms. It counts only while the process itself uses four fifths of its processors, so a neighbor on the machine that
//     takes CPU time causes no pressure.
//
// The largest signal determines the level: 0 is no pressure and [Full] is 4. The level rises immediately, and falls by
// one after four lower readings in a row. A signal is absent if its files or functions are missing; [Gate.Missing]
// lists the absent ones.
//
// Levels are for classes of requests: see [github.com/headgate/headgate/policy/decide.WithPressure] and docs/pressure.md.
//
//	gate.go      the goroutine that reads, and the level
//	signal.go    from two readings to signals, and from signals to a level
//	cgroup.go    the files of control groups, version 1 and 2
//	process.go   the process's own CPU time, memory limit and waiting goroutines
package pressure
