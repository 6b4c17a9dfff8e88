// Package gate implements gates for package model: Headgate's own limiters, and other projects' limiters, rewritten from
// their documentation and source code. Each limiter's comment names its source and its known faults.
//
// Time is passed as an argument in µs. No gate reads a clock.
//
//	fixed.go       Headgate's concurrency limit with a fixed number
//	fleet.go       several gates in front of one server
//	bucket.go    Headgate's token bucket, alone or with a limit per tenant
//	headgate.go    package adaptive
//	adaptive.go  a limit that a controller adjusts (window.go: windows of samples)
//	aimd.go, vegas.go, gradient2.go, failsafe.go
//	ring.go        counts over a sliding window (statistics.go: correlations)
//	sentinel.go, gozero.go  gates that use CPU or load, and rate × minimum latency
package gate
