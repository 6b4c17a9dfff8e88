package glob

import (
	"cmp"
	"slices"
)

// Set finds the longest pattern that matches a string. If two patterns have the same length, the one added first wins.
// The zero value is an empty set. A set must not change after its first search.
//
// A search does not try each pattern. A map indexes the patterns by the strings at both ends and the longest string
// between two stars. A search looks up substrings of the same lengths, so its cost grows with the number of different
// lengths, not with the number of patterns. Patterns with the same three strings are tried in turn.
type Set[T any] struct {
	entries []entry[T] // in the order of Add
	known   map[string]bool
	shapes  []shape
	shaped  map[shape]bool
	ranks   map[anchor][]int // entries by anchor, longest pattern first
}

type entry[T any] struct {
	pattern Pattern
	value   T
}

// anchor is the lookup key: the two ends of a pattern and the longest string between two stars.
type anchor struct{ first, middle, last string }

// shape contains the lengths of an anchor's strings.
type shape struct{ first, middle, last int }

// Add adds a pattern. It returns false if the set already contains it.
func (s *Set[T]) Add(text string, value T) bool {
	if s.known == nil {
		s.known, s.shaped, s.ranks = map[string]bool{}, map[shape]bool{}, map[anchor][]int{}
	}
	if s.known[text] {
		return false
	}
	s.known[text] = true
	s.entries = append(s.entries, entry[T]{New(text), value})
	added := len(s.entries) - 1
	p := &s.entries[added].pattern
	first, last := p.ends()
	at := anchor{first: first, middle: p.middle(), last: last}
	if of := (shape{len(at.first), len(at.middle), len(at.last)}); !s.shaped[of] {
		s.shaped[of] = true
		s.shapes = append(s.shapes, of)
	}
	list := s.ranks[at]
	place, _ := slices.BinarySearchFunc(list, added, s.compare)
	s.ranks[at] = slices.Insert(list, place, added)
	return true
}

// compare orders entries by precedence.
func (s *Set[T]) compare(a, b int) int {
	return cmp.Or(cmp.Compare(len(s.entries[b].pattern.text), len(s.entries[a].pattern.text)), cmp.Compare(a, b))
}

// Len returns the number of patterns.
func (s *Set[T]) Len() int { return len(s.entries) }

// Each calls visit for each pattern in order of precedence.
func (s *Set[T]) Each(visit func(text string, value T)) {
	order := make([]int, len(s.entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, s.compare)
	for _, i := range order {
		visit(s.entries[i].pattern.text, s.entries[i].value)
	}
}

// Find returns the value of the longest pattern that matches.
func (s *Set[T]) Find(text string) (value T, ok bool) {
	best := -1
	for _, of := range s.shapes {
		if of.first+of.middle+of.last > len(text) {
			continue
		}
		at := anchor{first: text[:of.first], last: text[len(text)-of.last:]}
		inside := text[of.first : len(text)-of.last]
		for i := 0; i+of.middle <= len(inside); i++ {
			at.middle = inside[i : i+of.middle]
			best = s.better(best, s.ranks[at], text)
			if of.middle == 0 {
				break
			}
		}
	}
	if best < 0 {
		return value, false
	}
	return s.entries[best].value, true
}

// better returns the first matching entry in list if it takes precedence over best.
func (s *Set[T]) better(best int, list []int, text string) int {
	for _, i := range list {
		if best >= 0 && s.compare(i, best) > 0 {
			return best
		}
		if s.entries[i].pattern.Match(text) {
			return i
		}
	}
	return best
}
