// Package scenario runs gates through situations that a server meets, and compares each with the best fixed limit that a
// search finds for the same situation.
//
// The files:
//
//	scenario.go  a situation; gates.go the gates that take part
//	steady.go, overload.go, sick.go, clients.go  the situations
//	run.go       one run, a whole comparison; search.go the best fixed limit; result.go the figures
//	fault.go     the known fault of each gate, with the figure that shows it
package scenario
