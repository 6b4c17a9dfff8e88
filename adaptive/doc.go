// Package adaptive bounds the calls in flight in one process by a limit that follows the latency of these calls.
//
// The limit is Little's law with the latency that its user accepts: what completes in a second, times [Config].Latency. As many
// calls in flight as that have this latency, whatever the number of workers behind them is. So the limit falls where the
// server becomes slower, and rises where it becomes faster, and no baseline has to be learned. A baseline that is learned while calls queue
// is the latency of the queue: that is the known fault of most adaptive limiters (docs/design/simulator.md has them by name).
//
//	limiter.go     permits, and the limiter's status
//	controller.go  the limit as windows of calls end; it reads no clock
package adaptive
