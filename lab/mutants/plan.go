package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// edit is the change for one mutant: the bytes between at and end in the scope's file are replaced by text.
type edit struct {
	scope
	at, end int
	text    string
}

// changed returns the whole file with the change applied.
func (e *edit) changed() string { return e.source[:e.at] + e.text + e.source[e.end:] }

// body returns the function's body with the change applied.
func (e *edit) body() string { return e.source[e.from:e.at] + e.text + e.source[e.end:e.to] }

// plan finds the place of every mutant. For a mutant without a unique place, its error lists the candidates.
func plan(root string, mutants []mutant) ([]edit, error) {
	edits, rooms := make([]edit, len(mutants)), map[string]room{}
	var wrong []error
	for i, m := range mutants {
		r, known := rooms[m.dir]
		if !known {
			var err error
			if r, err = readRoom(root, m.dir); err != nil {
				return nil, err
			}
			if rooms[m.dir] = r; len(r.scopes) == 0 {
				wrong = append(wrong, fmt.Errorf("mutants.txt: there is no code in %s", m.dir))
			}
		}
		if len(r.scopes) == 0 {
			continue
		}
		var err error
		if edits[i], err = r.plan(&m); err != nil {
			wrong = append(wrong, fmt.Errorf("mutants.txt:%d: %q %w", m.line, m.pattern, err))
		}
	}
	return edits, errors.Join(wrong...)
}

// plan returns the change for one mutant.
func (r room) plan(m *mutant) (edit, error) {
	scopes := r.named(m.function)
	if len(scopes) == 0 {
		return edit{}, fmt.Errorf("has no place: there is no %s in %s; %s", m.function, r.dir, r.where(m))
	}
	type found struct {
		scope
		patternMatch
	}
	var all []found
	var lines []string
	for _, s := range scopes {
		for _, p := range match(s.words, s.wordsOf(m.pattern)) {
			all = append(all, found{s, p})
			lines = append(lines, fmt.Sprintf("%s:%d", filepath.Base(s.file), s.line(p.at)))
		}
	}
	switch {
	case len(all) == 0:
		return edit{}, fmt.Errorf("is not in %s; %s", m.function, r.where(m))
	case m.which > len(all) || m.which == 0 && len(all) > 1:
		return edit{}, fmt.Errorf("is in %[2]s %[1]d times (%[3]s): append #1, #2 and so on to %[2]s, or make the pattern longer",
			len(all), m.function, strings.Join(lines, ", "))
	}
	f := all[max(0, m.which-1)]
	return f.replace(f.patternMatch, m.replacement)
}

// where returns text for an error that lists the functions with the pattern, to help find the mutant's new place.
func (r room) where(m *mutant) string {
	var names []string
	for _, s := range r.scopes {
		if len(match(s.words, s.wordsOf(m.pattern))) > 0 {
			names = append(names, s.name)
		}
	}
	if len(names) == 0 {
		return "no function of " + r.dir + " contains it"
	}
	return "it is in " + strings.Join(names, ", ")
}

func (s scope) replace(p patternMatch, replacement string) (edit, error) {
	text, unknown := filled(s.wordsOf(replacement), replacement, p.names)
	if unknown != "" {
		return edit{}, fmt.Errorf("has no %s, which its replacement has", unknown)
	}
	if same(s.wordsOf(s.source[p.at:p.end]), s.wordsOf(text)) {
		return edit{}, fmt.Errorf("is replaced by the same")
	}
	return edit{s, p.at, p.end, text}, nil
}
