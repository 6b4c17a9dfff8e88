package main

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// It must be possible to plant every mutant. A change that makes this impossible fails here, before any suite runs.
func TestEveryMutantIsPlantable(t *testing.T) {
	mutants, err := read("mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	edits, err := plan("../..", mutants)
	if err != nil {
		t.Error(err)
	}
	numbers := map[int]string{}
	for i := range mutants {
		m := &mutants[i]
		if len(suitesOf("../..", m)) == 0 {
			t.Errorf("no tests for %s", m.place())
		}
		if other, taken := numbers[m.id()]; taken {
			t.Errorf("%s and %s have one number: change a word of either", m.key(), other)
		}
		numbers[m.id()] = m.key()
		if len(edits) > i && filepath.Ext(edits[i].file) == ".go" && strings.Contains(edits[i].body(), "recover()") {
			t.Errorf("%s: recover would stand in a block of its own", m.place())
		}
	}
	if err == nil {
		compile(t, edits, ids(mutants))
	}
}

// compile compiles the packages with mistakes, without the packages that import them.
func compile(t *testing.T, edits []edit, ids []int) {
	t.Helper()
	p, err := plant(t.TempDir(), edits, ids)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"list", "-export", "-f", "{{.Name}}", "-overlay=" + p.overlay()}
	folders := map[string]bool{}
	for file := range p.files {
		folders[filepath.Dir(file)] = true
	}
	c := exec.CommandContext(t.Context(), "go", slices.AppendSeq(args, maps.Keys(folders))...)
	c.Dir = "../.."
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("the mistakes do not compile: %v\n%s", err, out)
	}
}

func TestList(t *testing.T) {
	mutants, err := list("# said\n\n[algo] steps\n(*Bucket).give #2 ¦ a\t+ b ¦  ¦ what it breaks\n[near] layers\nkeep ¦ a ¦ b ¦ c\n")
	if err != nil {
		t.Fatal(err)
	}
	first := mutant{4, "algo", "steps", "Bucket.give", 2, "a\t+ b", "", "what it breaks"}
	second := mutant{6, "near", "layers", "keep", 0, "a", "b", "c"}
	if len(mutants) != 2 || mutants[0] != first || mutants[1] != second {
		t.Errorf("%+v", mutants)
	}
}

func TestListErrors(t *testing.T) {
	for text, want := range map[string]string{
		"f ¦ a ¦ b ¦ c":                     "no [directory] is above",
		"[algo] steps\nf ¦ a ¦ b":           "mutants.txt:2: 3 fields",
		"[algo]":                            "is not “[directory] suites”",
		"[algo] paces":                      `no suites "paces"`,
		"[algo] steps\n\n\n[algo] steps":    "mutants.txt:4: algo has a section already",
		"[algo] steps\nf #0 ¦ a ¦ b ¦ c":    "from #1",
		"[algo] steps\nf ¦  ¦ b ¦ c":        "nothing to look for",
		"[algo] steps\n ¦ a ¦ b ¦ c":        "nothing to look for",
		"[algo] steps\nf ¦ a ¦ b ¦ c ¦ d ¦": "6 fields",
	} {
		if _, err := list(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
