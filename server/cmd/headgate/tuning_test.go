package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// inFile maps flags to settings in the policies file. tuning.md has a row for the setting instead of the flag.
var inFile = map[string]string{
	"resp": "listeners.NAME.address", "http": "listeners.NAME.address", "grpc": "listeners.NAME.address", "admin": "listeners.NAME.address",
	"users-file": "listeners.NAME.users_file", "admin-token-file": "listeners.NAME.token_file", "tls-cert": "listeners.NAME.tls",
	"tls-key": "listeners.NAME.tls", "tls-client-ca": "listeners.NAME.tls", "store": "store.url", "store-password-file": "store.password_file",
}

// TestTuningPage checks that tuning.md has a row for each flag of serve and gateway, with an example
// that the flag accepts, or a row for the same setting in the policies file.
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
	for _, flags := range []*pflag.FlagSet{newServe().Flags(), newGateway().Flags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			known[f.Name] = true
			example, ok := examples[f.Name]
			if !ok {
				setting := inFile[f.Name]
				if setting == "" || !strings.Contains(string(page), "\n| `"+setting+"` |") {
					t.Errorf("--%s has no row", f.Name)
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
