// Package scenario runs gates through a server's typical situations, and compares each gate with the best fixed limit
// found for the same situation.
//
// The files:
//
//	scenario.go  a scenario; gates.go the gates that are compared
//	steady.go, overload.go, sick.go, clients.go  the scenarios
//	run.go       one run, a whole comparison; search.go the best fixed limit; result.go the figures
//	fault.go     the known fault of each gate, with the figure that shows it
package scenario
