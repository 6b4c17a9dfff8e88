package main

import (
	"bytes"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand calls f for every command that the help lists.
func everyCommand(c *cobra.Command, f func(c *cobra.Command)) {
	f(c)
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			everyCommand(below, f)
		}
	}
}

// TestHelpExamples checks that every command has examples, and that it accepts their flags and arguments.
func TestHelpExamples(t *testing.T) {
	used := 0
	everyCommand(newRoot(), func(c *cobra.Command) {
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		if helpExamples[pathOf(c)] != "" {
			used++
		}
		for line := range strings.SplitSeq(c.Example, "\n") {
			words := wordsOf(line)
			if len(words) == 0 || words[0] != "headgate" {
				t.Errorf("%s: no command: %q", c.CommandPath(), line)
				continue
			}
			found, rest, err := newRoot().Find(words[1:])
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %q: %v", c.CommandPath(), line, err)
			}
			if c.HasParent() && found.Name() != "examples" && !strings.HasPrefix(found.CommandPath(), c.CommandPath()) {
				t.Errorf("%s: the example is of %s", c.CommandPath(), found.CommandPath())
			}
		}
	})
	if used != len(helpExamples) {
		t.Errorf("%d of %d examples are of commands", used, len(helpExamples))
	}
}

// wordsOf splits a line into words like a shell, up to a comment or a redirection.
func wordsOf(line string) (words []string) {
	for i, quoted := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, quoted)
			continue
		}
		for word := range strings.FieldsSeq(quoted) {
			if word == "#" || word == ">" {
				return words
			}
			words = append(words, word)
		}
	}
	return words
}

// TestFlagGroups checks that every flag of a command with groups, except --help and --output, is in a group, and that
// groups contain only existing flags.
func TestFlagGroups(t *testing.T) {
	seen := map[string]map[string]bool{}
	everyCommand(newRoot(), func(c *cobra.Command) {
		if flagGroups[c.Name()] == nil {
			return
		}
		seen[c.Name()] = map[string]bool{}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			seen[c.Name()][f.Name] = true
			if groupOf(c, f) == "" && f.Name != "help" && f.Name != "output" {
				t.Errorf("--%s of %s is in no group", f.Name, c.Name())
			}
		})
	})
	for command, groups := range flagGroups {
		for _, group := range groups {
			for _, name := range group.names {
				if !seen[command][name] && !seen["serve"][name] && !seen["gateway"][name] {
					t.Errorf("--%s is in a group, and %s does not have it", name, command)
				}
			}
		}
	}
}

func TestWrapKeepsIndentedLines(t *testing.T) {
	got := wrap("one two three\nfour\n\n  a   b   c d e f\nfive", 9)
	if want := "one two\nthree\nfour\n\n  a   b   c d e f\nfive"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestHelpFitsWidth checks that no line of the help is more than 5 bytes wider than maxWidth, except example commands
// and usage lines.
func TestHelpFitsWidth(t *testing.T) {
	everyCommand(newRoot(), func(c *cobra.Command) {
		var b bytes.Buffer
		c.SetOut(&b)
		showHelp(c)
		for line := range strings.SplitSeq(b.String(), "\n") {
			if len(line) > maxWidth+5 && !strings.HasPrefix(line, "  headgate ") {
				t.Errorf("%s: %d characters: %s", c.CommandPath(), len(line), line)
			}
		}
	})
}

// TestExamples checks that the scripts printed by the command examples run, and that the printed text has commands and
// no words that only the test needs.
func TestExamples(t *testing.T) {
	all, names := topics()
	for i, name := range names {
		var b bytes.Buffer
		printExample(&b, exampleText(name))
		for _, left := range []string{"$RESP", "$HTTP", "$ADMIN", "$UPSTREAM", "127.0.0.1:0", "stdout", "exec "} {
			if strings.Contains(b.String(), left) {
				t.Errorf("%s has %q:\n%s", name, left, b.String())
			}
		}
		if !strings.Contains(b.String(), "\n$ headgate ") || all[i].Summary == "" {
			t.Errorf("%s has no command:\n%s", name, b.String())
		}
	}
	testscript.Run(t, params(t, "examples"))
}

func TestBuildOf(t *testing.T) {
	clone := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-20T10:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	clone.Main.Version = "(devel)"
	if got, want := buildOf("", clone).String(), "devel (commit 0123456789ab of 2026-11-20T10:00:00Z, with changes)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := buildOf("v1.2.3", &debug.BuildInfo{}).String(); got != "v1.2.3" {
		t.Errorf("a release is %q", got)
	}
	tag := &debug.BuildInfo{}
	tag.Main.Version = "v0.9.0"
	if got := buildOf("", tag).String(); got != "v0.9.0" {
		t.Errorf("a tag is %q", got)
	}
}

// TestEveryCommandIsInAGroup checks that every command that is not hidden is in a group, so that new commands appear in
// the help.
func TestEveryCommandIsInAGroup(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if !slices.ContainsFunc(commandGroups, func(g commandGroup) bool { return g.id == c.GroupID }) && !c.Hidden {
			t.Errorf("%s is in no group", c.Name())
		}
	}
}
