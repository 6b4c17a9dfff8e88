// Package model simulates servers under load in virtual time: clients that send requests, a gate that admits or denies
// them, and a server with workers and a queue. It reads no clock and starts no goroutines, so a run is completely
// determined by its configuration and seed.
//
// Times and durations are whole microseconds of virtual time.
//
// The files:
//
//	loop.go      the queue of events
//	course.go    values that change over time
//	service.go   the distributions of service times, and pauses
//	client.go    clients and retries
//	gate.go      the interface of gates
//	config.go    the configuration of a run, and its limits
//	run.go       the event loop (attempt.go: the life of a request; server.go: the workers)
//	tally.go     the counts (histogram.go: latencies; figures.go: limits over time and fairness)
package model
