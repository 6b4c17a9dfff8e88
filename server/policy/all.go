package policy

import (
	"strconv"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// Limits makes the limits of a request: one, or those of all, which are called
// 1, 2, … by their place unless named.
func (s *LimitSpec) Limits() ([]headgate.Limit, error) {
	if s.Text != "" || s.All == nil {
		limit, err := s.Build()
		return []headgate.Limit{limit}, err
	}
	rest := s.LimitFields
	rest.All = nil
	if written := rest.written(); written != "" {
		return nil, refuse(written, "set", "no other limit beside all")
	}
	if len(s.All) < 1 || len(s.All) > engine.MaxCharges {
		return nil, refuse("all", strconv.Itoa(len(s.All))+" limits", allAccepted)
	}
	limits := make([]headgate.Limit, len(s.All))
	for i := range s.All {
		limit, err := s.All[i].placed(i + 1)
		if err != nil {
			return nil, at(err, "all", strconv.Itoa(i))
		}
		limits[i] = limit
	}
	return limits, distinct(limits)
}

// distinct refuses limits that would share one counter.
func distinct(limits []headgate.Limit) error {
	type counter struct{ algorithm, name string }
	seen := map[counter]bool{}
	for _, limit := range limits {
		c := counter{limit.Algorithm().String(), limit.Name()}
		if seen[c] && limit.Rates() != nil {
			return refuse("all", c.algorithm+" "+c.name+" twice", "limits of one algorithm with different names")
		}
		seen[c] = true
	}
	return nil
}

// placed makes one limit of all. It is called by its place unless named.
func (s *LimitSpec) placed(place int) (headgate.Limit, error) {
	name := strconv.Itoa(place)
	if s.Text == "" && s.Name == nil {
		s.Name = &name
	}
	limit, err := s.Build()
	if err == nil && s.Text != "" && limit.Name() == engine.DefaultName {
		return headgate.ParseLimit(s.Text + ` name "` + name + `"`)
	}
	return limit, err
}
