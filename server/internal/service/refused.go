package service

import "sync/atomic"

// Refusal is the reason why a front end refuses a request before any policy is decided. Such requests are not decisions,
// and no observer sees them. Many proxies and clients forward a request when they get no decision, so a mistake in their
// settings would otherwise end all limits without a trace.
type Refusal uint8

// The reasons.
const (
	// Untrusted is a proxy that describes requests, but is not in trusted_proxies.
	Untrusted Refusal = iota
	// Undescribed is a call of a proxy that describes no request.
	Undescribed
	// NoRoutes is a call of a proxy to a server without routes.
	NoRoutes
	// NoUser is a client that is no user of the listener.
	NoUser
	// NoRight is a user without the right to make the request, or a request that the server's flags do not allow.
	NoRight
	// WebPage is a request that a web page has sent.
	WebPage
	// NoPath is a path that does not exist, or that does not have the method.
	NoPath
	// Malformed is a request that cannot be read.
	Malformed
	// TooLarge is a request whose body or headers are too large.
	TooLarge
	// NoUpstream is a request in a gateway that no upstream is for.
	NoUpstream
	// RefusalCount is the number of reasons, and not itself a reason.
	RefusalCount
)

// String returns the reason as a label.
func (r Refusal) String() string {
	return [...]string{"untrusted", "undescribed", "no_routes", "no_user", "no_right", "web_page", "no_path", "malformed", "too_large", "no_upstream"}[r]
}

// refusals counts the refused requests.
type refusals [FrontEnds][RefusalCount]atomic.Uint64

// Refused counts a request that a front end has refused before a decision.
func (s *Service) Refused(from FrontEnd, why Refusal) { s.refusals[from][why].Add(1) }

// Refusals returns the number of requests that a front end has refused for a reason.
func (s *Service) Refusals(from FrontEnd, why Refusal) uint64 { return s.refusals[from][why].Load() }
