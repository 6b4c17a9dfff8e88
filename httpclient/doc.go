// Package httpclient makes the HTTP clients of Go programs respect rate limits.
//
//	client := &http.Client{Transport: httpclient.New(nil)}
//
// The [Transport] reads the rate-limit headers of each answer, and waits before the next
// request would be refused. It retries refused requests that are idempotent, within a
// budget. [Limit] is a transport that waits for a policy of this program instead, for
// servers that say nothing about their limits.
//
//	transport.go  the transport and its options
//	scope.go      what the requests to one host know together
//	quota.go      when the next request fits into one limit
//	headers.go    the rate-limit headers, all forms
//	retry.go      which requests are sent again, and when
//	limit.go      a transport that limits by a policy
package httpclient
