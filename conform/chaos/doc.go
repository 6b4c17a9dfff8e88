// Package chaos breaks the store and the servers while callers send requests, and counts
// every unit.
//
// A seed gives a schedule of faults. Real Redis servers and several headgate processes run
// under it; on a standalone Redis each process has a proxy of its own to it. Callers log
// every request with the times at which it was sent and answered. The audit then compares
// the log with the limits and with the promise of each answer.
//
//	policies.go   the limits, and what they let through in a span
//	schedule.go   a seed → the faults and their times
//	world.go      the servers and processes of a seed
//	process.go    one headgate process
//	proxy.go      what is between a process and Redis
//	faults.go     how each fault begins and ends
//	partition.go  the one that parts a Cluster
//	callers.go    the requests, and the log
//	checks.go     the requests over gRPC
//	holders.go    the same of permits
//	lists.go      lists of charges, taken or reserved together
//	waiters.go    a Go program whose callers wait for units, and leave
//	expiry.go     what Redis keeps, and until when
//	audit.go      the log → violations
//	spans.go      how many units were admitted in each span
//	denials.go    which denials were wrong
//	permits.go    how many permits were held, and which denials of one were wrong
//	steps.go      what steps of the clock of Redis change in both
//	samples.go    the histories of single keys, and whether there is an order of them
//	figures.go    how long callers waited, beside what is to be reached
//	report.go     the tables of all seeds
//
// The audit counts a request in a span only if it was sent and answered in it, because it
// was then surely decided in it. So no delay of a busy machine is a violation.
package chaos
