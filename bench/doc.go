// Command bench compares Headgate with other limiters and with the machine's own limits: on the same machine, in turns,
// by medians. It prints tables and writes docs/benchmarks.md.
//
//	main.go     the measurements and their lengths
//	measure.go  one round: callers, keys, duration
//	memory.go   limiters in memory
//	redis.go    exact limiters on one Redis; leased.go, a key with prefetch
//	lists.go    calls of a language model, with four limits
//	ceiling.go  the maximum throughput of this Redis
//	cluster.go  three nodes
//	articles.go the claims of the articles, and a Redis far away
//	resp.go     servers, by redis-benchmark
//	gateway.go  the gateway and the paths of HTTP
//	server.go   the processes
//	report.go   tables; chart.go draws them
//	profile.go  where the time goes; flame.go draws it
package main
