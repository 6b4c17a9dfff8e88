package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFlagsReference: docs/reference/flags.md has each flag of serve with its default, and
// no others.
func TestFlagsReference(t *testing.T) {
	data, err := os.ReadFile("../../../docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "## headgate serve\n")
	section, _, _ = strings.Cut(section, "\n## ")
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)[^`]*` \\| ([^|]*)\\|").FindAllStringSubmatch(section, -1) {
		documented[row[1]] = strings.Trim(row[2], " `")
	}
	if len(documented) < 20 {
		t.Fatalf("%d flags in flags.md", len(documented))
	}
	newServe().Flags().VisitAll(func(f *pflag.Flag) {
		want := map[string]string{"false": "off", "[]": "", "0s": "0"}[f.DefValue]
		if want == "" && f.DefValue != "[]" {
			want = f.DefValue
		}
		got, ok := documented[f.Name]
		delete(documented, f.Name)
		if !ok || got != want {
			t.Errorf("--%s: default %q in flags.md (%t), want %q", f.Name, got, ok, want)
		}
	})
	for name := range documented {
		t.Errorf("--%s is in flags.md, and serve does not have it", name)
	}
}
