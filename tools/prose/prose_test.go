package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write counts.txt")

// TestCounts checks that no pattern occurs more often than counts.txt records.
func TestCounts(t *testing.T) {
	found, err := search("../..")
	if err != nil {
		t.Fatal(err)
	}
	now := counts(found)
	if *update {
		if err := os.WriteFile("counts.txt", []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	before, err := os.ReadFile("counts.txt")
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]int{}
	for line := range strings.Lines(string(before)) {
		number, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		n := 0
		if _, err := fmt.Sscan(number, &n); err != nil {
			t.Fatal(err)
		}
		held[name] = n
	}
	for _, p := range patterns {
		if n := len(found[p.name]); n > held[p.name] {
			t.Errorf("%q: %d places, %d before: go run ./prose %s lists them; write the sentence in another way", p.name, n, held[p.name], p.name)
		}
	}
}

// TestPatterns checks that each pattern is found in a sentence, and not in the sentence that replaces it.
func TestPatterns(t *testing.T) {
	for name, c := range map[string]struct{ bad, good string }{
		"what":                 {"What is stored is what was spent.", "The store holds consumption, not limits."},
		"of which":             {"the limit of which the units are", "the limit that has the units"},
		"who":                  {"who was refused one unit is refused", "a denied key stays denied"},
		"stands, lies":         {"the path stands in the file", "the path is in the file"},
		"beside":               {"a table beside the shard", "a table in the shard"},
		"behind":               {"the store behind", "the wrapped store"},
		"is asked, is told":    {"the store is asked", "the layer calls the store"},
		"untouched":            {"the limit is as if untouched", "the limit is full again"},
		"that one, the one of": {"closes that one", "closes next"},
		"; so":                 {"a set is small; so it is copied", "a set is small, so it is copied"},
		"by it":                {"the key is decided by it", "the limit decides the key"},
	} {
		for _, p := range patterns {
			if p.name == name && !p.matches.MatchString(c.bad) {
				t.Errorf("%s: not found in %q", name, c.bad)
			}
			if p.matches.MatchString(c.good) {
				t.Errorf("%s: found in %q", p.name, c.good)
			}
		}
	}
	for _, question := range []string{"What is a limit?", "## What now?"} {
		if patterns[0].matches.MatchString(question) {
			t.Errorf("a question: %q", question)
		}
	}
}
