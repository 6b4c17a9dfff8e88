// Package decide applies the policies and routes of a file: it turns requests into operations of a store, and their
// results into answers. Programs use a [Limiter]. The server's front ends, Envoy's services, the gateway and replay put
// many requests into a [Batch]. Overrides, shadows, candidates, failure modes and hashed keys are implemented here for
// all of them.
//
//	request.go   requests and responses
//	limiter.go   a limiter by a file, for programs
//	http.go      the same for HTTP requests, by the file's routes
//	batch.go     many requests → operations → results → answers
//	plan.go      one request → its operations; items.go one with several keys and costs
//	answer.go    their results → one answer
//	hold.go      reservations and permits
//	shadow.go    the effect that a shadow would have had
//	keys.go      keys that are counted under their hash
//	headers.go   the rate-limit headers of an answer
package decide
