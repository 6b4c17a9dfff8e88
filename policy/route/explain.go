package route

import (
	"cmp"
	"fmt"
)

// nothing is the text displayed for a value that the request lacks.
const nothing = "nothing"

// Explanation describes why a request matches its route.
type Explanation struct {
	// Host, Path and Client are from the request, in normal form.
	Host, Path, Client string
	// Match is the request's match, or nil if no route matches. For each of the route's charges, Parts lists the values
	// of the key parts.
	Match *Match
	Parts [][]string
	// Tried are the routes before Match, in order. More is the number of such routes that are not listed.
	Tried []Tried
	More  int
}

// Tried is a route that did not match.
type Tried struct {
	Route *Route
	Index int
	// Condition is the first condition that was not met. Wanted is the value that it requires, and Got is the
	// request's value.
	Condition   Condition
	Wanted, Got string
}

// Explain tries one route after another. The most argument bounds the number of routes in Tried.
func (t *Table) Explain(r *Request, most int) Explanation {
	v := t.view(r)
	e := Explanation{Host: v.host, Path: v.path, Client: v.clientText()}
	for i := range t.routes {
		tried := Tried{Route: &t.routes[i], Index: i, Condition: t.routes[i].mismatch(&v, false)}
		if tried.Condition == NoMismatch {
			m, ok := t.match(&v, i)
			if ok {
				e.Match = &m
				for charge := range m.Route.Charges {
					values, _ := m.Route.values(charge, nil, &v)
					e.Parts = append(e.Parts, values)
				}
				return e
			}
			tried.Condition = EmptyKey
		} else if v.costly {
			m := t.costly(i)
			e.Match = &m
			return e
		}
		if len(e.Tried) == most {
			e.More++
			continue
		}
		tried.Wanted, tried.Got = tried.explain(&v)
		e.Tried = append(e.Tried, tried)
	}
	return e
}

// explain returns the value that the condition requires and the request's value.
func (tried *Tried) explain(v *view) (wanted, got string) {
	m := &tried.Route.Match
	switch tried.Condition {
	case HostDiffers:
		return m.Host.String(), cmp.Or(v.host, nothing)
	case PathDiffers:
		return m.Path.String(), v.path
	case WrongMethod:
		if v.preflight {
			return "OPTIONS in method, because the request is a preflight", fmt.Sprint(m.Methods)
		}
		return fmt.Sprint(m.Methods), v.method
	case WrongHeader:
		wrong := m.wrongHeader(v)
		return wrong.String(), shown(v.Header[wrong.name])
	case WrongQuery:
		wrong := m.wrongQuery(v)
		return wrong.String(), shown(v.fields(wrong.name))
	case WrongClient:
		return joined(m.Clients), cmp.Or(v.clientText(), nothing)
	case WhenIsFalse:
		if _, err := m.When.evaluate(v.variables()); err != nil {
			return m.When.String(), "an error: " + err.Error()
		}
		return m.When.String(), "false"
	default:
		_, lack := tried.Route.items(v)
		return lack.Part, nothing
	}
}

// shown formats at most four values of a header or field.
func shown(values []string) string {
	if len(values) == 0 {
		return nothing
	}
	return fmt.Sprintf("%.200q", values[:min(len(values), 4)])
}
