// Package scenario runs gates in typical situations for a server, and compares each gate with the best fixed limit
// found for the same situation.
//
// The files:
//
//	scenario.go  a scenario (gates.go: the gates that are compared)
//	steady.go, overload.go, sick.go, clients.go  the scenarios
//	run.go       one run, and a whole comparison (search.go: the best fixed limit; result.go: the figures)
//	fault.go     each gate's known fault, with the figure that demonstrates it
package scenario
