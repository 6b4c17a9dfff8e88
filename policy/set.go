package policy

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/policy/yamlfile"
)

// Set contains the policies of a file by name. It is immutable.
type Set struct {
	byName map[string]*Policy
	names  []string // sorted
}

// Get returns the policy with the given name, or nil and false if no such policy exists.
func (s *Set) Get(name string) (*Policy, bool) {
	if s == nil {
		return nil, false
	}
	p, ok := s.byName[name]
	return p, ok
}

// Unknown returns the error for a name that is not in the set.
func (s *Set) Unknown(name string) *engine.InputError {
	return &engine.InputError{Field: "policy", Value: engine.Quote(name), Accepted: "the name of a policy in the file", Meant: yamlfile.Nearest(name, s.Names())}
}

// Leased returns the limits of leased policies and of their overrides, by namespace. Disabled policies are left out. So
// are overrides whose units cannot be prefetched: they are decided exactly.
func (s *Set) Leased() map[string][]engine.Limit {
	leased := map[string][]engine.Limit{}
	for _, name := range s.Names() {
		p := s.byName[name]
		if !p.Leased || !p.Enabled {
			continue
		}
		for _, r := range append(p.members[0].rules.values(), rule{Limit: p.members[0].limit}) {
			if prefetch.Prefetchable(r.Limit) {
				leased[p.space] = append(leased[p.space], r.Limit)
			}
		}
	}
	return leased
}

// Divided returns the counter keys of the limits that divide their units among keys.
func (s *Set) Divided() (counted []string) {
	for _, name := range s.Names() {
		p := s.byName[name]
		for i := range p.members {
			if m := &p.members[i]; m.policy == p && m.limit.Algorithm().Divides() {
				counted = append(counted, m.limit.Counts(p.space, ""))
			}
		}
	}
	return counted
}

// Names returns the sorted names of the policies.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}
