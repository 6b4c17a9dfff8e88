package service

import "github.com/headgate/headgate/policy"

// inForce is the policies that decide, and what follows from them. It is immutable.
type inForce struct {
	set        *policy.Set
	generation uint64
	needsStore bool
}

// Policies returns the named limits in force.
func (s *Service) Policies() *policy.Set { return s.policies.Load().set }

// Generation returns how often policies were set since the process started.
func (s *Service) Generation() uint64 { return s.policies.Load().generation }

// SetPolicies replaces the named limits and returns the new generation. Calls of Do that
// have begun are decided by the policies before. What keys have spent is kept: see rule
// 10 in docs/design/rules.md.
func (s *Service) SetPolicies(set *policy.Set) (generation uint64) {
	next := &inForce{set: set, needsStore: s.config.needsStore(set)}
	for {
		before := s.policies.Load()
		next.generation = before.generation + 1
		if s.policies.CompareAndSwap(before, next) {
			return next.generation
		}
	}
}
