package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestTuningPage checks that tuning.md has each flag of serve and gateway whose value is a number or a time, with an
// example that the flag accepts.
func TestTuningPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/tuning.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Flags")
	examples := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| `([^`]*)` \\|").FindAllStringSubmatch(text, -1) {
		examples[row[1]] = row[2]
	}
	known := map[string]bool{}
	number := regexp.MustCompile(`^[0-9]`)
	for _, flags := range []*pflag.FlagSet{newServe().Flags(), newGateway().Flags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			known[f.Name] = true
			example, ok := examples[f.Name]
			if !ok {
				// Addresses begin with a number too.
				if number.MatchString(f.DefValue) && strings.Count(f.DefValue, ".") < 2 {
					t.Errorf("--%s, default %s, has no row", f.Name, f.DefValue)
				}
				return
			}
			if err := f.Value.Set(example); err != nil {
				t.Errorf("--%s %s: %v", f.Name, example, err)
			}
		})
	}
	for name := range examples {
		if !known[name] {
			t.Errorf("--%s is no flag", name)
		}
	}
}
