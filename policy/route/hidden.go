package route

import (
	"net/netip"
	"slices"
	"strings"
)

// Hidden names a route that no request can reach, because the earlier route with the index By matches all its requests.
type Hidden struct{ Route, By int }

// Hidden returns the routes that are hidden by an earlier one. It compares pairs of routes, so it does not find a
// route that is hidden only by several routes together.
func (t *Table) Hidden() (all []Hidden) {
	for i := range t.Routes() {
		by := slices.IndexFunc(t.routes[:i], func(r Route) bool { return r.covers(&t.routes[i]) })
		if by >= 0 {
			all = append(all, Hidden{Route: i, By: by})
		}
	}
	return all
}

// Narrower names a route that takes requests away from a later one, Wider, which matches all of them too.
type Narrower struct{ Route, Wider int }

// Narrower returns the pairs of an earlier route and a later one that matches all its requests.
func (t *Table) Narrower() (all []Narrower) {
	for i := range t.Routes() {
		for j := i + 1; j < len(t.routes); j++ {
			if !t.routes[i].Skip && t.routes[j].covers(&t.routes[i]) {
				all = append(all, Narrower{Route: i, Wider: j})
			}
		}
	}
	return all
}

// covers reports whether the route certainly applies to every request that other matches.
func (r *Route) covers(other *Route) bool {
	m, o := &r.Match, &other.Match
	return !r.Skip && m.Host.covers(&o.Host) && m.Path.covers(&o.Path) && m.coversMethods(o) &&
		covered(m.Headers, o.Headers) && covered(m.Query, o.Query) && m.coversClients(o) &&
		(m.When == nil || o.When != nil && m.When.String() == o.When.String())
}

func (h *Host) covers(other *Host) bool {
	switch {
	case h.name == "":
		return true
	case other.sub:
		return h.sub && (h.name == other.name || strings.HasSuffix(other.name, "."+h.name))
	default:
		return other.name != "" && h.match(other.name)
	}
}

func (p *Path) covers(other *Path) bool {
	if p.text == "" || other.text == "" {
		return p.text == "" || p.tail && len(p.segments) == 0
	}
	for i := range p.segments {
		if i == len(other.segments) || p.segments[i].literal != "" && p.segments[i].literal != other.segments[i].literal {
			return false
		}
	}
	return p.tail || len(p.segments) == len(other.segments) && !other.tail
}

func (m *Conditions) coversMethods(other *Conditions) bool {
	return len(m.Methods) == 0 || len(other.Methods) > 0 && !slices.ContainsFunc(other.Methods, func(method string) bool { return !m.allowsMethod(method) })
}

// covered reports whether all conditions hold whenever all others hold.
func covered(conditions, others []Value) bool {
	return !slices.ContainsFunc(conditions, func(v Value) bool {
		return !slices.ContainsFunc(others, func(o Value) bool {
			return o.name == v.name && (v.pattern.String() == "*" || v.pattern.String() == o.pattern.String())
		})
	})
}

func (m *Conditions) coversClients(other *Conditions) bool {
	inside := func(network netip.Prefix) bool {
		return slices.ContainsFunc(m.Clients, func(p netip.Prefix) bool { return p.Bits() <= network.Bits() && p.Contains(network.Addr()) })
	}
	return len(m.Clients) == 0 || len(other.Clients) > 0 && !slices.ContainsFunc(other.Clients, func(p netip.Prefix) bool { return !inside(p) })
}
