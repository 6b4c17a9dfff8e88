// Package adaptive bounds the calls in flight in one process with a limit that follows their latency.
//
// The limit is Little's law with the latency that the user accepts: calls completed per second, times [Config].Latency.
// With that many calls in flight, calls take that latency, whatever the number of workers. So the limit falls when the
// server becomes slower and rises when it becomes faster, without learning a baseline. A baseline learned while calls
// queue would include the time in the queue. This is the known fault of most adaptive limiters
// (docs/design/simulator.md names them).
//
//	limiter.go     permits, and the limiter's status
//	controller.go  adjusts the limit at the end of each window of calls; reads no clock
package adaptive
