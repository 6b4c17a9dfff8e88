package service

import (
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
)

// inForce holds the active policies and values derived from them. It is immutable.
type inForce struct {
	set        *policy.Set
	routes     *route.Table
	generation uint64
	needsStore bool
}

// Policies returns the active policies.
func (s *Service) Policies() *policy.Set { return s.policies.Load().set }

// Generation returns the number of times that policies have been set. It starts at 0 with each process.
func (s *Service) Generation() uint64 { return s.policies.Load().generation }

// Route returns the request that charges an HTTP request by the active routes. ok is false if no route matches.
func (s *Service) Route(r *route.Request) (request decide.Request, ok bool) {
	m, ok := s.policies.Load().routes.Find(r)
	if !ok {
		return decide.Request{}, false
	}
	return decide.Routed(&m), true
}

// Preflighted is [route.Table.Preflighted] for the active routes.
func (s *Service) Preflighted(r *route.Request) (to *route.Route, ok bool) {
	return s.policies.Load().routes.Preflighted(r)
}

// Check is [route.Table.Check] for the active routes.
func (s *Service) Check(r *route.Request) error { return s.policies.Load().routes.Check(r) }

// CheckRead is [route.Table.CheckRead] for the active routes.
func (s *Service) CheckRead(r *route.Request) error { return s.policies.Load().routes.CheckRead(r) }

// WhenErrors is [route.Table.WhenErrors] for the active routes.
func (s *Service) WhenErrors() uint64 { return s.policies.Load().routes.WhenErrors() }

// HasRoutes reports whether the active policies file contains routes.
func (s *Service) HasRoutes() bool { return len(s.policies.Load().routes.Routes()) > 0 }

// Proxies returns the addresses of proxies that are trusted to describe their clients' requests.
func (s *Service) Proxies() route.Proxies { return s.policies.Load().routes.Proxies() }

// Reads reports whether a route reads a header: see [route.Table.Reads].
func (s *Service) Reads(header string) bool { return s.policies.Load().routes.Reads(header) }

// SetPolicies replaces the policies and the routes, and returns the new generation. Running calls of Do continue to
// use the old policies. Spent units are kept: see rule 10 in docs/design/rules.md.
func (s *Service) SetPolicies(set *policy.Set, routes *route.Table) (generation uint64) {
	next := &inForce{set: set, routes: routes, needsStore: s.config.needsStore(set)}
	for {
		before := s.policies.Load()
		next.generation = before.generation + 1
		if s.policies.CompareAndSwap(before, next) {
			s.rules.WatchTerms(set)
			return next.generation
		}
	}
}
