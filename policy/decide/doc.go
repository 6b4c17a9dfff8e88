// Package decide applies the policies and routes of a file: it turns requests into store operations, and their results
// into responses. Programs use package filelimit. The server's front ends, the services for Envoy, the gateway and replay put
// many requests into a [Batch]. Only this package implements overrides, shadows, candidates, failure modes and hashed
// keys.
//
//	request.go   requests and responses
//	batch.go     many requests → operations → results → responses
//	plan.go      one request → its operations
//	charges.go   the limits that a response has charged
//	first.go     policies whose first limit with room is charged
//	answer.go    the operations' results → one response (response.go)
//	hold.go      reservations and permits; settle.go ends them
//	shadow.go    the effect that a shadow would have had
//	keys.go      keys counted under their hashes
//	headers.go   the rate-limit headers of a response
package decide
