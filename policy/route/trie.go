package route

import "strings"

// hosts holds the routes, indexed by host.
type hosts struct {
	exact map[string]*trie
	below map[string]*trie // by parent domain
	any   *trie
}

// add returns the trie for a host, creating it if necessary.
func (h *hosts) add(host Host) *trie {
	switch {
	case host.name == "":
		if h.any == nil {
			h.any = &trie{}
		}
		return h.any
	case host.sub:
		return inMap(&h.below, host.name)
	default:
		return inMap(&h.exact, host.name)
	}
}

func inMap(m *map[string]*trie, name string) *trie {
	if *m == nil {
		*m = map[string]*trie{}
	}
	if (*m)[name] == nil {
		(*m)[name] = &trie{}
	}
	return (*m)[name]
}

// find calls visit for each trie whose host pattern matches.
func (h *hosts) find(host string, visit func(*trie)) {
	if t := h.exact[host]; t != nil {
		visit(t)
	}
	if h.any != nil {
		visit(h.any)
	}
	if h.below == nil || len(host) > maxHost {
		return // longer than any DNS name, so no pattern matches
	}
	for i := range len(host) {
		if host[i] == '.' {
			if t := h.below[host[i+1:]]; t != nil && i > 0 {
				visit(t)
			}
		}
	}
}

// trie holds the routes of one host, indexed by path segment.
type trie struct {
	literal map[string]*trie
	anyCase map[string][]*trie // literal, by the segments in lower case
	other   *trie              // any segment
	end     *group             // the path ends here
	tail    *group             // matches the rest of any path
}

// add returns the group for a path, creating it if necessary.
func (t *trie) add(p *Path) *group {
	for i := range p.segments {
		if literal := p.segments[i].literal; literal != "" {
			before := len(t.literal)
			next := inMap(&t.literal, literal)
			if len(t.literal) > before {
				if t.anyCase == nil {
					t.anyCase = map[string][]*trie{}
				}
				lower := lowerASCII(literal)
				t.anyCase[lower] = append(t.anyCase[lower], next)
			}
			t = next
			continue
		}
		if t.other == nil {
			t.other = &trie{}
		}
		t = t.other
	}
	at := &t.end
	if p.tail || p.text == "" {
		at = &t.tail
	}
	if *at == nil {
		*at = &group{}
	}
	return *at
}

// find calls visit for each group whose path matches the rest of a path in normal form, or matches it in any case.
func (t *trie) find(rest string, anyCase bool, visit func(*group)) {
	if t.tail != nil {
		visit(t.tail)
	}
	if rest == "" {
		if t.end != nil {
			visit(t.end)
		}
		return
	}
	if t.literal == nil && t.other == nil {
		return
	}
	segment, rest, _ := strings.Cut(rest, "/")
	if anyCase {
		for _, next := range t.anyCase[lowerASCII(segment)] {
			next.find(rest, anyCase, visit)
		}
	} else if next := t.literal[segment]; next != nil {
		next.find(rest, anyCase, visit)
	}
	if t.other != nil {
		t.other.find(rest, anyCase, visit)
	}
}
