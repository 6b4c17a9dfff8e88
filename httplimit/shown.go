package httplimit

import (
	"net/http"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit/wire"
)

// What package wire defines, under the names that programs use.
type (
	// Proxies configures which peers are trusted to name their clients, and which headers they use.
	Proxies = wire.Proxies
	// Style is a form of rate-limit headers.
	Style = wire.Style
	// HeaderLimit is one limit as shown in the headers. Its fields describe the binding window.
	HeaderLimit = wire.HeaderLimit
	// NoKeyError is an [ErrNoKey] that names the missing part of the key.
	NoKeyError = wire.NoKeyError
	// Problem is an RFC 9457 problem, the body of an error response.
	Problem = wire.Problem
)

// The styles: see [wire.Style].
const (
	Draft      = wire.Draft
	Draft03    = wire.Draft03
	XRateLimit = wire.XRateLimit
	Spring     = wire.Spring
	Off        = wire.Off
)

// Loopback trusts proxies on the same machine. [ByIP] trusts no proxy unless it is told to: pass Loopback to [ByClient].
var Loopback = wire.Loopback

// ErrNoKey is the error for a request that lacks its key. [WithError] receives it, and [Middleware.Decide] returns it.
var ErrNoKey = wire.ErrNoKey

// Outcome derives a request's outcome, for [headgate.Policy.Outcome], from its response: see [wire.Outcome].
func Outcome(status int, h http.Header) (failed bool, retryAfter time.Duration) {
	return wire.Outcome(status, h)
}

// limitOf returns the limit of a decision that has only one.
func limitOf(d *headgate.Decision, cost int64) HeaderLimit {
	name, b := d.Binding.Policy, &d.Binding
	if name == "" {
		name = b.Name
	}
	return HeaderLimit{
		Name: name, Rate: engine.Rate(b.Rate), Capacity: d.Limit, Remaining: d.Remaining, Until: wire.Until(d.RetryAfter, d.ResetAfter-b.Earlier), Cost: cost,
	}
}

// limitsOf returns the limits of a decision with several, the binding limit first. It omits limits that allow
// everything.
func limitsOf(d *headgate.Decision, cost func(limit int) int64) []HeaderLimit {
	limits := make([]HeaderLimit, 0, len(d.Limits))
	add := func(i int) {
		if s := &d.Limits[i]; !s.Unlimited {
			limits = append(limits, HeaderLimit{
				Name: wire.LimitName(s.Policy, s.Name), Rate: engine.Rate(s.Rate), Capacity: s.Limit, Remaining: s.Remaining,
				Until: wire.Until(s.RetryAfter, s.ResetAfter-s.Earlier), Cost: cost(i),
			})
		}
	}
	add(d.Binding.Index)
	for i := range d.Limits {
		if i != d.Binding.Index {
			add(i)
		}
	}
	return limits
}
