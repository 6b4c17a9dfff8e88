package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFlagsReference checks that docs/reference/flags.md lists exactly the flags of serve, replay and gateway, with
// their defaults and meanings. The gateway's section also names the flags that it shares with serve.
func TestFlagsReference(t *testing.T) {
	documented, _ := documentedFlags(t, "serve")
	if len(documented) < 20 {
		t.Fatalf("%d flags in flags.md", len(documented))
	}
	serve := newServe().Flags()
	compareFlags(t, "serve", serve, documented)

	documented, _ = documentedFlags(t, "replay")
	compareFlags(t, "replay", newReplay().Flags(), documented)

	documented, section := documentedFlags(t, "gateway")
	own := pflag.NewFlagSet("gateway", pflag.ContinueOnError)
	newGateway().Flags().VisitAll(func(f *pflag.Flag) {
		if _, described := documented[f.Name]; described || serve.Lookup(f.Name) == nil {
			own.AddFlag(f)
		} else if !strings.Contains(section, "`--"+f.Name+"`") {
			t.Errorf("--%s of the gateway is not in flags.md", f.Name)
		}
	})
	compareFlags(t, "gateway", own, documented)
}

// documentedFlags returns the default of each flag in a command's table in flags.md, and the section that contains the
// table.
func documentedFlags(t *testing.T, command string) (defaults map[string]string, section string) {
	t.Helper()
	data, err := os.ReadFile("../../../docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ = strings.Cut(string(data), "## headgate "+command+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	defaults = map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)[^`]*` \\| ([^|]*)\\|(.*)\\|$").FindAllStringSubmatch(section, -1) {
		if strings.TrimSpace(row[3]) == "" {
			t.Errorf("--%s of %s has no meaning in flags.md", row[1], command)
		}
		defaults[row[1]] = strings.Trim(row[2], " `")
	}
	return defaults, section
}

func compareFlags(t *testing.T, command string, flags *pflag.FlagSet, documented map[string]string) {
	t.Helper()
	flags.VisitAll(func(f *pflag.Flag) {
		want := map[string]string{"false": "off", "[]": "", "0s": "0"}[f.DefValue]
		if want == "" && f.DefValue != "[]" {
			want = f.DefValue
		}
		got, ok := documented[f.Name]
		delete(documented, f.Name)
		if !ok || got != want {
			t.Errorf("--%s of %s: default %q in flags.md (%t), want %q", f.Name, command, got, ok, want)
		}
	})
	for name := range documented {
		t.Errorf("--%s is in flags.md, and %s does not have it", name, command)
	}
}
