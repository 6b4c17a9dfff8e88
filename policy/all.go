package policy

import (
	"strconv"

	"github.com/headgate/headgate/engine"
)

// Limits returns the limits for a request: one limit, or all limits listed under "all". Unnamed limits under "all" are
// named 1, 2, … by position.
func (s *LimitSpec) Limits() ([]engine.Limit, error) {
	if s.Text != "" || s.All == nil { // build rejects "first"
		limit, err := s.Build()
		return []engine.Limit{limit}, err
	}
	rest := s.LimitFields
	rest.All = nil
	if name := rest.firstSet(); name != "" {
		return nil, invalid(name, "set", "no other limit with all")
	}
	if len(s.All) < 1 || len(s.All) > engine.MaxCharges {
		return nil, invalid("all", strconv.Itoa(len(s.All))+" limits", allAccepted)
	}
	limits := make([]engine.Limit, len(s.All))
	for i := range s.All {
		limit, err := s.All[i].buildNamed(i + 1)
		if err != nil {
			return nil, atField(err, "all", strconv.Itoa(i))
		}
		limits[i] = limit
	}
	return limits, distinct(limits)
}

// distinct returns an error if two limits would share a counter.
func distinct(limits []engine.Limit) error {
	type counter struct{ algorithm, name string }
	seen := map[counter]bool{}
	for _, limit := range limits {
		c := counter{limit.Algorithm().String(), limit.Name()}
		if seen[c] && limit.Rates() != nil {
			return invalid("all", c.algorithm+" "+c.name+" twice", "limits of one algorithm with different names")
		}
		seen[c] = true
	}
	return nil
}

// buildNamed builds one limit under "all". An unnamed limit gets its position as its name.
func (s LimitSpec) buildNamed(position int) (engine.Limit, error) {
	limit, err := s.Build()
	return limit.WithPosition(position), err
}
