// Package decide applies the policies and routes of a file: it turns requests into store operations, and their results
// into responses. Programs use package filelimit. The server's front ends, the services for Envoy, the gateway and replay put
// many requests into a [Batch]. Only this package implements overrides, shadows, candidates, failure modes and hashed
// keys.
//
//	request.go   requests and responses
//	batch.go     many requests → operations → results → responses
//	plan.go      one request → its operations (items.go: with several keys and costs)
//	answer.go    their results → one response
//	hold.go      reservations and permits
//	shadow.go    the effect that a shadow would have had
//	keys.go      keys counted under their hashes
//	headers.go   the rate-limit headers of a response
package decide
