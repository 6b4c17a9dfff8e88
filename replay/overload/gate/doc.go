// Package gate has gates for package model: Headgate's own steps, and limiters of others, written anew from
// their documentation and from a reading of their sources. Each of those has its source and its known fault in its comment.
//
// Time is an argument in µs. No gate reads a clock.
//
//	fixed.go       Headgate's concurrency limit with a fixed number
//	fleet.go       several gates in front of one server
//	bucket.go      Headgate's token bucket, alone and with a limit of each tenant
//	headgate.go    package adaptive
//	adaptive.go    a limit that a controller moves; window.go windows of samples
//	aimd.go, vegas.go, gradient2.go, failsafe.go
//	ring.go        counts over a sliding window; statistics.go correlations
//	sentinel.go, gozero.go  gates by CPU or load, with the product of rate and minimum latency
package gate
