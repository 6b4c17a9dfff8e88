package main

import (
	"runtime/debug"
	"slices"
	"strings"
	"testing"

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
			if c.HasParent() && !strings.HasPrefix(found.CommandPath(), c.CommandPath()) {
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
			grouped := slices.ContainsFunc(flagGroups[c.Name()], func(g flagGroup) bool { return slices.Contains(g.names, f.Name) })
			if !grouped && f.Name != "help" && f.Name != "output" {
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
