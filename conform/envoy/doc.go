// Package envoy compares Headgate's rate limit service with envoyproxy/ratelimit: both run,
// each on a Redis of its own, and get the same random requests. docs/design/envoy.md lists
// the differences, which no request of this test can meet.
package envoy
