package route

import (
	"net/http"
	"slices"
	"strings"

	"github.com/headgate/headgate/httplimit/wire"
)

// Table finds the first route that matches a request. It is immutable and safe for concurrent use.
//
// A search walks the host and the path of the request, and looks up its headers, query fields and client. Its cost
// does not grow with the total number of routes. It grows only with the number of routes that match the request's
// host and path, and an exact header, field or client.
type Table struct {
	routes  []Route
	proxies Proxies
	hosts   hosts
	methods bool // a route depends on the method
	paths   bool // a route depends on the path
	// reads has the headers that routes read, by their names with hyphens in place of underscores.
	reads       map[string]string
	underscores bool // one of them has an underscore
	// compared has the texts in when conditions, among which are the names of headers, and of fields by [fieldName].
	compared map[string]bool
	// unusual has those of these texts that are not as [fieldName] writes them, such as pageSize.
	unusual []string
}

// New returns a table with routes in the given order. X-Forwarded-For is trusted only from proxies.
func New(routes []Route, proxies Proxies) *Table {
	t := &Table{routes: routes, proxies: proxies, reads: map[string]string{}, compared: map[string]bool{}}
	for i := range routes {
		m := &routes[i].Match
		t.hosts.add(m.Host).add(&m.Path).add(&routes[i], i)
		t.methods = t.methods || len(m.Methods) > 0 || m.When != nil && strings.Contains(m.When.text, varMethod)
		t.paths = t.paths || m.Path.text != "" || m.When != nil && strings.Contains(m.When.text, varPath)
		for _, name := range m.When.named() {
			if t.compared[fieldName(name)] = true; name != fieldName(name) && !strings.Contains(name, "[") {
				t.unusual = append(t.unusual, name)
			}
		}
		for name := range routes[i].headers {
			t.reads[canonical(strings.ReplaceAll(name, "_", "-"))] = name
			t.underscores = t.underscores || strings.Contains(name, "_")
		}
	}
	return t
}

// Routes returns the routes in order, or nil for a nil table. The caller must not modify them.
func (t *Table) Routes() []Route {
	if t == nil {
		return nil
	}
	return t.routes
}

// Match is a request's route.
type Match struct {
	// Route is the matching route, and Index is its position in the table.
	Route *Route
	Index int
	// Items are the route's charges for the request, or nil if the request lacks a part of a key.
	Items []Item
	// Class is the request's class, or "".
	Class string
	// NoKey names the part of a key that the request lacks or that cannot be read. Such a request is denied and not
	// charged. If no part is missing, NoKey is nil.
	NoKey *wire.NoKeyError
}

// Proxies returns the proxies that are trusted to describe their clients' requests. For a nil table it returns
// [Loopback].
func (t *Table) Proxies() Proxies {
	if t == nil {
		return Loopback
	}
	return t.proxies
}

// Find returns the first matching route. ok is false if no route matches. Only routes whose methods include OPTIONS match
// a browser's preflight, because it has neither the key of the request that it asks about nor a page that could read a
// denial. See [Table.Preflighted].
func (t *Table) Find(r *Request) (m Match, ok bool) {
	if t == nil || len(t.routes) == 0 {
		return Match{}, false
	}
	v := t.view(r)
	return t.find(&v)
}

// Preflighted returns the route of the request that a preflight asks about: the first that matches it, whether or not it
// has a key. ok is false if r is no preflight, or if no route matches.
func (t *Table) Preflighted(r *Request) (to *Route, ok bool) {
	if t == nil || len(t.routes) == 0 {
		return nil, false
	}
	v := t.view(r)
	if !v.preflight {
		return nil, false
	}
	v.method, v.preflight, v.keyless = upper(asked(r)), false, true
	m, ok := t.find(&v)
	return m.Route, ok
}

func (t *Table) find(v *view) (m Match, ok bool) {
	var memory [16][]int
	lists := memory[:0]
	t.hosts.find(v.host, func(paths *trie) {
		paths.find(v.path[1:], v.AnyCase, func(g *group) { lists = g.find(lists, v) })
	})
	if len(lists) > cap(memory) {
		lists = [][]int{slices.Sorted(slices.Values(slices.Concat(lists...)))}
	}
	for last := -1; ; {
		index := next(lists)
		if index < 0 {
			return Match{}, false
		}
		if index == last {
			continue // the route is in several lists
		}
		last = index
		if t.routes[index].mismatch(v, true) != NoMismatch {
			if v.costly {
				return t.costly(index), true
			}
			continue
		}
		if m, ok = t.match(v, index); ok {
			return m, true
		}
	}
}

// costly is the match with a route whose when condition costs too much for the request. The request is refused: if the
// condition counted as not met, a client could leave the route by a long header (bug 96).
func (t *Table) costly(index int) Match {
	const part = "the condition when, which takes too long for this request"
	return Match{Route: &t.routes[index], Index: index, NoKey: &wire.NoKeyError{Part: part, Unreadable: true, Status: http.StatusBadRequest}}
}

// next removes the lowest index from the lists and returns it. It returns -1 if they are empty.
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
	index := lists[least][0]
	lists[least] = lists[least][1:]
	return index
}

// match returns the match with a route whose conditions are met. ok is false if the route is skipped. An unreadable
// part does not skip the route, because clients could send one to avoid it.
func (t *Table) match(v *view, index int) (m Match, ok bool) {
	r := &t.routes[index]
	m = Match{Route: r, Index: index}
	if v.keyless {
		return m, true
	}
	m.Items, m.NoKey = r.items(v)
	if r.Class != (Class{}) {
		m.Class = r.Class.of(v)
	}
	return m, m.NoKey == nil || !r.Skip || m.NoKey.Unreadable
}

// Reads reports whether a route reads the header, under its canonical name: to match, or for a key, a cost or a class.
// It is true for each word in the text of a when condition.
func (t *Table) Reads(header string) bool {
	if t == nil {
		return false
	}
	_, reads := t.reads[canonical(strings.ReplaceAll(header, "_", "-"))]
	return reads
}

// headers yields the canonical names of the headers that the route reads.
func (r *Route) headers(yield func(name string) bool) {
	names := []string{r.Class.Header}
	for _, v := range r.Match.Headers {
		names = append(names, v.name)
	}
	for i := range r.Charges {
		names = append(names, r.Charges[i].Cost.Header)
		for _, p := range r.Charges[i].Key {
			if p.From == FromHeader || p.From == FromJWT || p.From == FromBearer {
				names = append(names, p.Name)
			}
		}
	}
	for _, name := range append(names, r.Match.When.words()...) {
		if name != "" && !yield(canonical(name)) {
			return
		}
	}
}

// WhenErrors returns the number of evaluations of when conditions that have failed since the table was created.
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
