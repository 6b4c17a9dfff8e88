// Command bench measures Headgate beside other limiters and beside the limits of
// the machine: in one process, in turns, by medians. It prints tables and writes
// docs/benchmarks.md.
//
//	main.go     what is measured, and how long
//	measure.go  a round: callers, keys, a while
//	memory.go   limiters in memory
//	redis.go    exact limiters on one Redis
//	resp.go     servers, by redis-benchmark
//	server.go   the processes
//	report.go   tables
package main
