package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/policy/yamlfile"
)

type commandGroup struct {
	id, title string
	make      []func() *cobra.Command
}

// commandGroups lists all commands, in the order of the help.
var commandGroups = []commandGroup{
	{"run", "Run:", []func() *cobra.Command{newServe, newGateway}},
	{"ask", "Ask a server:", []func() *cobra.Command{newAllow, newPeek}},
	{"operate", "Operate:", []func() *cobra.Command{
		newTop, newLimited, newKey, newPolicy, newOverride, newShadow, newConfig, newReload, newHealth, newStore,
	}},
	{"plan", "Plan and test:", []func() *cobra.Command{newCheck, newTest, newExplain, newReplay, newBench, newVerify}},
	{"other", "Other:", []func() *cobra.Command{newVersion}},
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "headgate",
		Short:         "A rate limiter that says what it promises, and keeps it",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Example: `  headgate serve --config policies.yaml    # run a server with a policies file
  headgate allow api ann                   # ask it whether ann may spend a unit of the policy api
  headgate test policies_test.yaml         # test the file, in virtual time and without a server`,
	}
	root.SetVersionTemplate("headgate " + build().String() + "\n")
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(helpTemplate)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	for _, group := range commandGroups {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, command := range group.make {
			c := command()
			c.GroupID = group.id
			root.AddCommand(c)
		}
	}
	for _, command := range extra {
		root.AddCommand(command())
	}
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	prepare(root)
	return root
}

// prepare adds examples and the completion of flags to a command and its subcommands. A command that only has subcommands prints
// its help, and suggests the nearest name for an unknown subcommand.
func prepare(c *cobra.Command) {
	if text, ok := helpExamples[pathOf(c)]; ok {
		c.Example = text
	}
	if c.HasSubCommands() && !c.Runnable() {
		c.Args = knownCommand
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	completesFlags(c)
	for _, below := range c.Commands() {
		prepare(below)
	}
}

// knownCommand rejects arguments of a group of commands that name none of them.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 || !c.HasSubCommands() {
		return nil
	}
	var names []string
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() || below.Name() == "help" {
			names = append(names, below.Name())
		}
	}
	slices.Sort(names)
	return fmt.Errorf("%s: unknown command %q; %saccepted: %s", pathOf(c), args[0], yamlfile.DidYouMean(args[0], names), strings.Join(names, ", "))
}
