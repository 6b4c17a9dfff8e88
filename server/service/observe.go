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
	// FrontEnds is the number of front ends.
	FrontEnds
)

// String returns the name of the front end, in lower case.
func (f FrontEnd) String() string {
	return [...]string{"resp", "http", "grpc", "admin", "gateway", "unknown"}[min(f, FrontEnds)]
}

// Observer sees each call after it was decided. Its methods must be safe for concurrent use and must return quickly,
// because clients wait for them. They must not retain their arguments: keys are in memory that is reused.
type Observer interface {
	Observe(o *Observed)
}

// Observed is one call: a batch of requests.
type Observed struct {
	// Context is the caller's context. It has the id and the span of the request.
	Context   context.Context //nolint:containedctx // an Observed ends with the call that it describes
	FrontEnd  FrontEnd
	Requests  []decide.Request
	Responses []decide.Response
	// Shadows are the decisions of shadow limits.
	Shadows []decide.Shadow
	// Began is the start of the call, Ended the time of its decision, and Took the time in between.
	Began, Ended time.Time
	Took         time.Duration

	counted []string // the hashes of the keys; nil if keys are not hashed
}

// Labels for requests without a policy from the file. Policy names have no parentheses.
const (
	InlinePolicy = "(inline)" // limits that come with the request
	OtherPolicy  = "(other)"  // names of inactive policies
)

// Policy returns the name of the policy that a request named, for labels. It never returns text chosen by a client.
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

// Key returns the key or hash that a request is counted under; for several items, the key of the binding limit.
// Observers show it instead of Request.Key. Its memory is reused.
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

// One returns o reduced to one of its requests.
func (o *Observed) One(i int) Observed {
	one := *o
	one.Requests, one.Responses, one.Shadows = o.Requests[i:i+1], o.Responses[i:i+1], nil
	if len(o.counted) > 0 {
		one.counted = o.counted[i : i+1]
	}
	return one
}

// observed has the memory for one call's Observed, so that observing a call allocates nothing.
var observed = sync.Pool{New: func() any { return new(Observed) }}

// observe shows a call to the observer.
func (s *Service) observe(o Observed) {
	seen := observed.Get().(*Observed)
	*seen = o
	seen.Ended = time.Now()
	seen.Took = seen.Ended.Sub(seen.Began)
	s.config.Observer.Observe(seen)
	*seen = Observed{}
	observed.Put(seen)
}
