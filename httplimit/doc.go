// Package httplimit limits the requests of a net/http server.
//
//	limiter := headgate.New()
//	perIP := limiter.Policy("per-ip", headgate.TokenBucket{Rate: headgate.PerMinute(60)})
//	http.Handle("/", httplimit.New(perIP, httplimit.ByIP())(handler))
//
// The middleware is a func(http.Handler) http.Handler, which chi and other routers accept as well. A denied request
// gets a 429 with Retry-After and an RFC 9457 problem. Every response contains rate-limit headers. The handler
// receives the server's own ResponseWriter or, with [WithFinalCost] and [InFlight], a wrapper with the same capabilities.
//
// [By] takes other ways to decide: [AllOf] charges several policies, such as one for the address and one for the
// customer's plan; [InFlight] bounds the requests that are served at the same time; package policy/filelimit has the routes
// of a policies file.
//
// Adapters for gin, echo, fiber, connect and gRPC are separate modules in adapter/.
//
//	httplimit.go  the middleware
//	options.go    its options
//	all.go        several charges, all or nothing
//	inflight.go   a semaphore
//	response.go   rules for the final cost of a request, by the response's status or size
//	recorder.go   the ResponseWriter that records the status and counts the bytes
//	key.go        the key of a request
//	shown.go      the limits of a decision for the headers, and what package wire defines
//	answer.go     the answer of a decider, and the headers; wire/ has their names and texts
//	denied.go     the response to a denied request
//	slots.go      requests in flight as permits; adaptive.go a limit of them that follows latency
//	unsettled.go  charges whose final cost is not known yet
package httplimit
