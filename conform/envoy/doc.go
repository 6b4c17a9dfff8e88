// Package envoy compares Headgate's rate limit service with envoyproxy/ratelimit: both run on their own Redis and get
// the same random requests. docs/design/envoy.md lists the known differences, which the requests of this test avoid.
package envoy
