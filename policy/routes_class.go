package policy

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// class reads the class of a route's requests. A written name must be a class of at least one of the route's policies.
// If the route sets no class, class returns the zero Class.
func (c *routeClass) class(r *routeReader) (route.Class, error) {
	switch h := c.header; {
	case h != nil && (h.Header == nil || !route.IsToken(*h.Header)):
		return route.Class{}, atField(invalid("header", "not set or no name", "the name of a header that a trusted proxy sets"), "class")
	case h != nil:
		return route.Class{Header: http.CanonicalHeaderKey(*h.Header)}, nil
	case c.name == nil:
		return route.Class{}, nil
	}
	known, accepted := r.classes()
	if !known[*c.name] {
		return route.Class{}, invalid("class", engine.Quote(*c.name), accepted)
	}
	return route.Class{Name: *c.name}, nil
}

// classes returns the classes of the route's policies, and the accepted values for its class as text.
func (r *routeReader) classes() (known map[string]bool, accepted string) {
	known = map[string]bool{}
	for _, name := range r.policies() {
		p, ok := r.set.Get(name)
		for i := 0; ok && i < len(p.members); i++ {
			for _, class := range p.members[i].policy.classes.list {
				known[class.Name] = true
			}
		}
	}
	if len(known) == 0 {
		return known, "none: no policy of the route has classes"
	}
	return known, strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}

func (r *routeReader) policies() []string {
	names := slices.Clone(r.fields.Policies)
	for i := range r.fields.Charge {
		if name := r.fields.Charge[i].Policy; name != nil {
			names = append(names, *name)
		}
	}
	return names
}
