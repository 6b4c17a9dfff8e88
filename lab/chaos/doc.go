// Package chaos injects faults into the store and the servers while callers send requests, and accounts for every
// unit.
//
// A seed determines a schedule of faults for real Redis servers and several headgate processes. If Redis is standalone,
// each process connects through its own proxy. Callers log when every request was sent and answered. The audit then
// checks the log against the limits and against the promise in each answer.
//
//	policies.go   the limits, and how much they allow in a span
//	schedule.go   a seed → the faults and their times
//	world.go      the servers and processes of a seed
//	process.go    one headgate process
//	proxy.go      the proxy between a process and Redis
//	faults.go     how each fault begins and ends
//	partition.go  network partitions of a Cluster
//	callers.go    the requests, and the log
//	checks.go     the requests over gRPC
//	holders.go    permit requests
//	lists.go      lists of charges, taken or reserved together
//	waiters.go    a Go program whose callers wait for units, and cancel
//	leavers.go    callers that leave before their units are due, or come after their deadline
//	expiry.go     what Redis keeps, and until when
//	audit.go      the log → violations
//	spans.go      how many units were admitted in each span
//	denials.go    unjustified denials of units
//	needless.go   decisions without the store although it is up, and units lost by callers that left
//	permits.go    how many permits were held, and unjustified denials of permits
//	steps.go      how steps of Redis's clock change the bounds
//	samples.go    the histories of single keys, and whether they are linearizable
//	figures.go    how long callers waited, compared with the goals
//	report.go     the tables for all seeds
//
// The audit counts a request in a span only if the request was sent and answered within the span, because only then was
// it certainly decided within the span. Delays on a busy machine therefore never count as violations.
package chaos
