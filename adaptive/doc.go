// Package adaptive bounds the calls in flight in one process with a limit that follows their latency.
//
// The limit follows Little's law: it is the number of calls completed per second times the accepted latency,
// [Config].Latency. With that many calls in flight, a call takes that latency, whatever the number of workers.
// Therefore the limit falls when the server becomes slower, and rises when it becomes faster. There is no learned
// baseline. A baseline learned while calls are queued would include their time in the queue, which is the known flaw of
// most adaptive limiters (docs/design/simulator.md lists them).
//
//	limiter.go     permits, and the limiter's status
//	controller.go  adjusts the limit at the end of each window of calls; reads no clock
package adaptive
