package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// scope is a function, or a part of a Lua fragment, that is searched for a pattern.
type scope struct {
	name   string
	file   string
	source string // of the whole file
	words  []word // of the function's body
	// from and to delimit the bytes between the braces of a Go function's body. returns is true if the function has
	// results.
	from, to int
	returns  bool
}

// between returns the words between two positions in the source.
func between(words []word, from, to int) []word {
	low, _ := slices.BinarySearchFunc(words, from, func(w word, at int) int { return w.at - at })
	high, _ := slices.BinarySearchFunc(words, to, func(w word, at int) int { return w.at - at })
	return words[low:high]
}

// line returns the number of the line that contains a byte.
func (s scope) line(at int) int { return 1 + strings.Count(s.source[:at], "\n") }

// room holds the code in a directory, which is a Go package or a set of Lua fragments.
type room struct {
	dir    string
	scopes []scope
}

func readRoom(root, dir string) (room, error) {
	path, err := filepath.Abs(filepath.Join(root, dir))
	if err != nil {
		return room{}, err
	}
	functions, err := goScopes(path)
	if err != nil {
		return room{}, err
	}
	fragments, err := luaScopes(path)
	return room{dir, append(functions, fragments...)}, err
}

// named returns the scopes with the given name. There are several if build constraints select among a package's files.
func (r room) named(name string) (found []scope) {
	for _, s := range r.scopes {
		if s.name == name {
			found = append(found, s)
		}
	}
	return found
}

// wordsOf splits text into the words of Go or Lua, depending on the scope's file.
func (s scope) wordsOf(text string) []word {
	if filepath.Ext(s.file) == ".lua" {
		return luaWords(text)
	}
	return goWords(text)
}
