package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxWidth is the width of help.
const maxWidth = 100

// helpTemplate shows a command's purpose, its examples, its commands and its flags by group. Cobra's own template has no
// groups of flags.
const helpTemplate = `{{or .Long .Short}}
{{if .Example}}
Examples:
{{.Example}}
{{end}}
Usage:
  {{if and .Runnable (not .HasSubCommands)}}{{.UseLine}}{{else}}{{.CommandPath}} COMMAND [flags]{{end}}
{{range $group := groups .}}
{{$group.Title}}
{{range $.Commands}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))}}  {{rpad .Name .NamePadding}}  {{.Short}}
{{end}}{{end}}{{end}}{{range flagSections .}}
{{.Title}}
{{.Flags.FlagUsagesWrapped .Width}}{{end}}{{if .HasAvailableSubCommands}}
{{.CommandPath}} COMMAND --help prints the examples and flags of a command.
{{end}}`

func init() {
	cobra.AddTemplateFunc("groups", groupsOf)
	cobra.AddTemplateFunc("flagSections", flagSections)
}

// groupsOf returns the groups of a command's subcommands. A command without groups has one.
func groupsOf(c *cobra.Command) []*cobra.Group {
	if groups := c.Groups(); len(groups) > 0 || !c.HasAvailableSubCommands() {
		return groups
	}
	return []*cobra.Group{{Title: "Commands:"}}
}

// flagSection is a group of flags in a command's help.
type flagSection struct {
	Title string
	Flags *pflag.FlagSet
	Width int
}

// flagSections returns a command's flags by group.
func flagSections(c *cobra.Command) (all []flagSection) {
	c.InitDefaultHelpFlag() // also adds the parents' flags
	c.InitDefaultVersionFlag()
	groups, names := map[string]*pflag.FlagSet{}, []string{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		group := groupOf(c, f)
		if groups[group] == nil {
			groups[group] = pflag.NewFlagSet(group, pflag.ContinueOnError)
			names = append(names, group)
		}
		groups[group].AddFlag(f)
	})
	for _, name := range inOrder(c, names) {
		title := name + " flags:"
		if name == "" {
			title = "Flags:"
		}
		all = append(all, flagSection{title, groups[name], maxWidth})
	}
	return all
}
