// Command bench measures Headgate beside other limiters and beside the limits of
// the machine: in one process, in turns, by medians. It prints tables and writes
// docs/benchmarks.md.
//
//	main.go     what is measured, and how long
//	measure.go  a round: callers, keys, a while
//	memory.go   limiters in memory
//	redis.go    exact limiters on one Redis; leased.go, a key held from it
//	ceiling.go  what that Redis could do at most
//	cluster.go  three nodes
//	articles.go what the articles claim, and a Redis far away
//	resp.go     servers, by redis-benchmark
//	server.go   the processes
//	report.go   tables; chart.go draws them
//	profile.go  where the time goes; flame.go draws it
package main
