// Command bench compares Headgate with other limiters and with the machine's own limits. All run in turn on the same
// machine, and medians are compared. It prints tables and writes bin/bench.md, from which docs/figures.md has its rows.
//
//	main.go     the measurements and their lengths
//	measure.go  one round with its callers, keys and duration
//	used.go     what processes use: CPU time and wake-ups
//	memory.go   in-memory limiters
//	redis.go    exact limiters on one Redis (leased.go: a key with prefetch)
//	parts.go    where a store's time goes in a merged call
//	lists.go    language model calls with four limits
//	ceiling.go  the maximum throughput of this Redis
//	cluster.go  three nodes
//	articles.go the articles' claims, and a distant Redis
//	resp.go     servers, measured with redis-benchmark
//	gateway.go  the gateway, and the HTTP front ends
//	server.go   the processes
//	report.go   tables, and bin/bench.md with a row of each
//	profile.go  where the time goes
package main
