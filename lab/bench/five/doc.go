// Package five contains the same five programs, written with Headgate and with four other limiters, as far as each
// limiter supports them. A test runs the programs, and compares their line counts and names with the table in
// docs/design/api.md.
//
//	calls    10 calls a second and 20 at once, in memory
//	users    5 requests a minute from each user, in memory
//	server   an HTTP server that allows each address 60 requests a minute
//	worker   a worker that waits for its turn: 10 a second
//	shared   5 requests a minute from each user, counted on Redis
package five
