package route

import (
	"net/netip"
	"slices"
)

// group holds the routes for one host and path. Routes that require an exact header, an exact query field or a client
// are indexed by that value, so that matching a path with many routes, such as one per customer, takes no longer than
// matching a path with few. The lists contain indexes into the table, in order.
type group struct {
	headers []named
	queries []named
	clients []sized
	others  []int
}

// named holds the routes with a condition on one header or field, indexed by value.
type named struct {
	name   string
	values map[string][]int
}

// sized holds the routes with a condition on the client, indexed by network. All its networks have the same prefix
// length.
type sized struct {
	bits     int
	v6       bool
	networks map[netip.Prefix][]int
}

func (g *group) add(r *Route, index int) {
	if v := exact(r.Match.Headers); v != nil {
		g.headers = addNamed(g.headers, v, index)
		return
	}
	if v := exact(r.Match.Query); v != nil {
		g.queries = addNamed(g.queries, v, index)
		return
	}
	if len(r.Match.Clients) == 0 {
		g.others = append(g.others, index)
	}
	for _, network := range r.Match.Clients {
		g.addClient(network.Masked(), index)
	}
}

// exact returns the first condition without a star, or nil.
func exact(values []Value) *Value {
	for i := range values {
		if values[i].pattern.Exact() {
			return &values[i]
		}
	}
	return nil
}

func addNamed(all []named, v *Value, index int) []named {
	i := slices.IndexFunc(all, func(n named) bool { return n.name == v.name })
	if i < 0 {
		i = len(all)
		all = append(all, named{name: v.name, values: map[string][]int{}})
	}
	value := v.pattern.String()
	all[i].values[value] = append(all[i].values[value], index)
	return all
}

func (g *group) addClient(network netip.Prefix, index int) {
	bits, v6 := network.Bits(), network.Addr().Is6()
	i := slices.IndexFunc(g.clients, func(s sized) bool { return s.bits == bits && s.v6 == v6 })
	if i < 0 {
		i = len(g.clients)
		g.clients = append(g.clients, sized{bits: bits, v6: v6, networks: map[netip.Prefix][]int{}})
	}
	g.clients[i].networks[network] = append(g.clients[i].networks[network], index)
}

// find appends the lists of routes that the request can match.
func (g *group) find(lists [][]int, v *view) [][]int {
	if len(g.others) > 0 {
		lists = append(lists, g.others)
	}
	for i := range g.headers {
		lists = g.headers[i].find(lists, v.compared(g.headers[i].name))
	}
	for i := range g.queries {
		lists = g.queries[i].find(lists, v.fields(g.queries[i].name))
	}
	for i := range g.clients {
		s := &g.clients[i]
		if client := v.clientAddress(); client.IsValid() && client.Is6() == s.v6 {
			if network, err := client.Prefix(s.bits); err == nil && s.networks[network] != nil {
				lists = append(lists, s.networks[network])
			}
		}
	}
	return lists
}

// find appends the list for each value to lists. A repeated value is looked up only once (regression: bug 69).
func (n *named) find(lists [][]int, values []string) [][]int {
	if len(values) > 1 {
		values = slices.Compact(slices.Sorted(slices.Values(values)))
	}
	for _, value := range values {
		if places := n.values[value]; places != nil {
			lists = append(lists, places)
		}
	}
	return lists
}
