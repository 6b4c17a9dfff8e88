// Package simulate decides the requests of an access log as a server would have decided them, at the times in the
// log.
//
// The requests go through a server's routes and service, with a memory store whose clock follows the log. So the
// answers are the server's answers; the arithmetic of limits is not duplicated here.
//
//	needs.go         the fields of a log that the routes of a file need
//	simulate.go      Simulation: one request → its answer
//	pipeline.go      the requests of a log, decided in order by several goroutines
//	run.go           a log → admitted and denied requests
//	tally.go         counts by route and policy
//	keys.go          counts by key: requests, denials, stretches, patterns
//	patterns.go      paths without their ids
//	traffic.go       requests over time
//	alternatives.go  the same requests under other algorithms
//	limits.go        the limits of a key, by its routes
//	cost.go          calls of the store and memory
//	compare.go       two files on one log
package simulate
