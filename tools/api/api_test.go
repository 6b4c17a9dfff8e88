package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// engineTypes are the engine types that programs see. docs/design/api.md explains why.
var engineTypes = []string{"LimitOutcome", "Promise", "Store"}

// The numbers of exported names are within their bounds. There are no aliases, and no engine types other than
// engineTypes.
func TestSurface(t *testing.T) {
	s, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	if s.names() > maxNames {
		t.Errorf("%d functions, types, errors and constants; at most %d", s.names(), maxNames)
	}
	if len(s.methods) > maxMethods {
		t.Errorf("%d methods; at most %d", len(s.methods), maxMethods)
	}
	if len(s.aliases) > 0 {
		t.Errorf("aliases: %v", s.aliases)
	}
	if !slices.Equal(s.engine, engineTypes) {
		t.Errorf("types of the engine: %v, want %v", s.engine, engineTypes)
	}
}

// The page lists every name, and the numbers of names with their bounds.
func TestPageNamesAll(t *testing.T) {
	s, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/design/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(s.functions, s.types, s.errors, s.constants, s.methods) {
		if _, method, ok := strings.Cut(name, "."); ok {
			name = method
		}
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/design/api.md does not name %s", name)
		}
	}
	for _, end := range []string{fmt.Sprintf(" | %d | %d |\n", s.names(), maxNames), fmt.Sprintf(" | %d | %d |\n", len(s.methods), maxMethods)} {
		if !strings.Contains(string(page), end) {
			t.Errorf("no row of the table in docs/design/api.md ends with %q", strings.TrimSpace(end))
		}
	}
}

// Each kind of name is counted, and unexported ones are not.
func TestRead(t *testing.T) {
	folder := t.TempDir()
	source := `package p
import "engine"
type A = engine.B
type C struct { D engine.E; f engine.G }
func (C) M(engine.H) {}
func (C) m() {}
func New() C
func low()
const (
	Most  = 1
	least = 2
)
var ErrX, ErrY error
type I interface { Do(); do() }
`
	if err := os.WriteFile(filepath.Join(folder, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := read(folder)
	if err != nil {
		t.Fatal(err)
	}
	if s.names() != 7 || !slices.Equal(s.methods, []string{"C.M", "I.Do"}) || !slices.Equal(s.aliases, []string{"A"}) || !slices.Equal(s.engine, []string{"B", "E", "H"}) {
		t.Errorf("%d names, %+v", s.names(), s)
	}
}
