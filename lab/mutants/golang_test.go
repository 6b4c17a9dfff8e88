package main

import (
	"strings"
	"testing"
)

const bucket = `package p

type B[K any] struct{ n int }

// give returns max(a, b) units.
func (b *B[K]) give(n int) int {
	if x := b.n; x > 0 {
		return x
	}
	b.n = max(
		n, // at least
		b.n,
	)
	return max(n, 1)
}

func free() int { return max(n, 1) }

var n = 3
`

func goScope(t *testing.T, name string) scope {
	t.Helper()
	dir := folder(t, map[string]string{"b.go": bucket, "b_test.go": "package p\nfunc checked() { _ = 1 }\n"})
	r, err := readRoom(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	found := r.named(name)
	if len(found) != 1 {
		t.Fatalf("%d times %s", len(found), name)
	}
	return found[0]
}

func TestGoFunctions(t *testing.T) {
	if r, err := readRoom(folder(t, map[string]string{"b_test.go": bucket}), "."); err != nil || len(r.scopes) > 0 {
		t.Errorf("tests have functions: %v, %v", r, err)
	}
	for pattern, want := range map[string]string{
		"x > 0":    "B.give",
		"max(n,1)": "B.give free",
		"n = 3":    "", // outside of functions
	} {
		var in []string
		for _, name := range []string{"B.give", "free"} {
			if len(match(goScope(t, name).words, goWords(pattern))) > 0 {
				in = append(in, name)
			}
		}
		if got := strings.Join(in, " "); got != want {
			t.Errorf("%s stands in %q, want %q", pattern, got, want)
		}
	}
}

func TestGoLayoutDoesNotMatter(t *testing.T) {
	s := goScope(t, "B.give")
	for pattern, want := range map[string]int{
		"b.n = max(n, b.n)":                   1, // lines, comments and a comma between
		"b.n=max(n,b.n)":                      1,
		"max(n, b.n); return":                 1, // a line end ends a statement
		"max(n, b.n) return":                  0,
		"if x := b.n; x > 0 { return x }":     1,
		"if x := b.n; x > 0 { return x; }":    1,
		"if x := b.n;":                        1,
		"return":                              2,
		"retur":                               0, // words are not split
		"max(a, b)":                           0, // comments are not code
		"$x.n = max($y, $x.n)":                1,
		"$x.$x":                               0,
		"if $x := b.n; $x > 0 { return $x }":  1,
		"if $x := b.n; $x > $y { return $x }": 0, // a number is not a name
	} {
		if got := len(match(s.words, goWords(pattern))); got != want {
			t.Errorf("%q stands %d times, want %d", pattern, got, want)
		}
	}
}
