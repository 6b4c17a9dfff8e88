// Package httpclient makes the HTTP clients of Go programs respect rate limits.
//
//	client := &http.Client{Transport: httpclient.New(nil)}
//
// The [Transport] reads the rate-limit headers of each response and delays requests that the server would deny. It
// retries denied requests that are idempotent, within a budget. For servers that send no rate-limit headers, [Limit]
// returns a transport that enforces a policy of this program instead.
//
//	transport.go  the transport and its options
//	scope.go      the state shared by the requests to one host
//	quota.go      when the next request fits within one limit
//	headers.go    the rate-limit headers in all forms
//	retry.go      which requests are sent again, and when
//	limit.go      a transport that limits by a policy
package httpclient
