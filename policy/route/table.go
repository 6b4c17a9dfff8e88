package route

import (
	"slices"

	"github.com/headgate/headgate/httplimit"
)

// Table finds the first route that matches a request. It is immutable and safe for
// concurrent use.
//
// A search walks the host and the path of the request and looks up its headers, query and
// client. Its cost does not grow with the number of routes, but with the number of those
// that agree with the request in host and path and in an exact header, field or client.
type Table struct {
	routes  []Route
	proxies Proxies
	hosts   hosts
}

// New returns a table of routes, in order. Proxies are those whose X-Forwarded-For is
// believed.
func New(routes []Route, proxies Proxies) *Table {
	t := &Table{routes: routes, proxies: proxies}
	for i := range routes {
		m := &routes[i].Match
		t.hosts.add(m.Host).add(&m.Path).add(&routes[i], i)
	}
	return t
}

// Routes returns the routes in order. They must not be changed.
func (t *Table) Routes() []Route { return t.routes }

// Match is the route of a request.
type Match struct {
	// Route is the route, Index its place in the table.
	Route *Route
	Index int
	// Items are the charges of the route for the request; nil if it lacks a part of a key.
	Items []Item
	// Class is the class of the request, "" for none.
	Class string
	// NoKey says which part of a key the request lacks: it is denied, and nothing is
	// charged. It is nil if the request has all.
	NoKey *httplimit.NoKeyError
}

// Proxies returns the addresses that are trusted to describe the request of their client.
// Without a table these are the addresses of this machine.
func (t *Table) Proxies() Proxies {
	if t == nil {
		return Loopback
	}
	return t.proxies
}

// Find returns the first route that matches; ok is false if none does.
func (t *Table) Find(r *Request) (m Match, ok bool) {
	if t == nil || len(t.routes) == 0 {
		return Match{}, false
	}
	v := t.view(r)
	var memory [16][]int
	lists := memory[:0]
	t.hosts.find(v.host, func(paths *trie) {
		paths.find(v.path[1:], func(g *group) { lists = g.find(lists, &v) })
	})
	if len(lists) > cap(memory) {
		lists = [][]int{slices.Sorted(slices.Values(slices.Concat(lists...)))}
	}
	for last := -1; ; {
		place := next(lists)
		if place < 0 {
			return Match{}, false
		}
		if place == last {
			continue // it is in several lists
		}
		last = place
		if t.routes[place].mismatch(&v, true) != NoMismatch {
			continue
		}
		if m, ok = t.match(&v, place); ok {
			return m, true
		}
	}
}

// next takes the lowest place from the lists, or returns -1 if they are empty.
func next(lists [][]int) int {
	least := -1
	for i := range lists {
		if len(lists[i]) > 0 && (least < 0 || lists[i][0] < lists[least][0]) {
			least = i
		}
	}
	if least < 0 {
		return -1
	}
	place := lists[least][0]
	lists[least] = lists[least][1:]
	return place
}

// match returns the match of a route whose conditions hold; ok is false if the route is
// skipped. A part that cannot be read skips no route: its client could make it so.
func (t *Table) match(v *view, place int) (m Match, ok bool) {
	r := &t.routes[place]
	m = Match{Route: r, Index: place}
	m.Items, m.NoKey = r.items(v)
	if r.Class != (Class{}) {
		m.Class = r.Class.of(v)
	}
	return m, m.NoKey == nil || !r.Skip || m.NoKey.Unreadable
}

// WhenErrors returns how often a when had an error since the table was made.
func (t *Table) WhenErrors() (errors uint64) {
	if t == nil {
		return 0
	}
	for i := range t.routes {
		if when := t.routes[i].Match.When; when != nil {
			errors += when.Errors()
		}
	}
	return errors
}
