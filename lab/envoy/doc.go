// Package envoy compares Headgate's rate limit service with envoyproxy/ratelimit. Each runs on its own Redis and
// receives the same random requests. docs/design/envoy.md lists the known differences, which these requests avoid.
package envoy
