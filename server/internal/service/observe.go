package service

import (
	"context"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
)

// FrontEnd identifies the origin of a request.
type FrontEnd uint8

// The front ends.
const (
	RESP FrontEnd = iota
	HTTP
	GRPC
	Admin
	Gateway
	// FrontEnds is the number of front ends, and not itself a front end.
	FrontEnds
)

// String returns the front end's name in lower case.
func (f FrontEnd) String() string {
	return [...]string{"resp", "http", "grpc", "admin", "gateway", "unknown"}[min(f, FrontEnds)]
}

// Observer observes each call after it has been decided. Observe must be safe for concurrent use and must return
// quickly, because clients wait for it. It must not retain its argument, because the bytes of keys are overwritten.
type Observer interface {
	Observe(o *Observed)
}

// Observed describes one call, which is a batch of requests.
type Observed struct {
	// Context is the caller's context. It carries the id and the span of the request.
	Context   context.Context //nolint:containedctx // an Observed lives as long as the call that it describes
	FrontEnd  FrontEnd
	Requests  []decide.Request
	Responses []decide.Response
	// Shadows contains the decisions of shadow limits.
	Shadows []decide.Shadow
	// Began is the start of the call, Ended is the time of its decision, and Took is the time in between.
	Began, Ended time.Time
	Took         time.Duration

	counted []string // hashes of the keys; nil if keys are not hashed
}

// Labels for requests without a policy from the file. Names of policies cannot contain parentheses.
const (
	InlinePolicy = "(inline)" // requests with inline limits
	OtherPolicy  = "(other)"  // requests that name an inactive policy
)

// Policy returns a label for the policy of request i: its name, InlinePolicy or OtherPolicy. It never returns text
// chosen by a client.
func (o *Observed) Policy(i int) string {
	switch r := &o.Requests[i]; {
	case o.Responses[i].Requested != nil:
		return o.Responses[i].Requested.Name
	case len(r.Items) > 0 && r.Items[0].Policy != "" && o.Responses[i].Err != nil:
		return OtherPolicy
	case r.Policy == "" || r.Limit != engine.Limit{}:
		return InlinePolicy
	default:
		return OtherPolicy
	}
}

// Key returns the key or hash that request i is counted under. For several items it is the key of the binding limit.
// Observers must show it instead of Request.Key. Its bytes are overwritten after the call.
func (o *Observed) Key(i int) string {
	switch {
	case o.Requests[i].Items != nil:
		return o.Responses[i].Key
	case len(o.counted) > 0:
		return o.counted[i]
	default:
		return o.Requests[i].Key
	}
}

// One returns a copy of o that contains only request i and its response, without shadows.
func (o *Observed) One(i int) Observed {
	one := *o
	one.Requests, one.Responses, one.Shadows = o.Requests[i:i+1], o.Responses[i:i+1], nil
	if len(o.counted) > 0 {
		one.counted = o.counted[i : i+1]
	}
	return one
}

// observed is a pool of Observed values, so that observing a call allocates nothing.
var observed = sync.Pool{New: func() any { return new(Observed) }}

// observe passes a call to the observer.
func (s *Service) observe(o Observed) {
	seen := observed.Get().(*Observed)
	*seen = o
	seen.Ended = time.Now()
	seen.Took = seen.Ended.Sub(seen.Began)
	s.config.Observer.Observe(seen)
	*seen = Observed{}
	observed.Put(seen)
}
