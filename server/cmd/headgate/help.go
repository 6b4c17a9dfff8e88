package main

import (
	"slices"

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

// flagSections returns a command's flags by group. Flags in no group come last or, in a command without groups of its
// own, first.
func flagSections(c *cobra.Command) (all []flagSection) {
	c.InitDefaultHelpFlag() // also adds the parents' flags
	c.InitDefaultVersionFlag()
	groups, own := flagGroups[c.Name()]
	if !own {
		groups = []flagGroup{connection(c)}
	}
	grouped := map[string]bool{}
	add := func(title string, of func(f *pflag.Flag) bool) {
		flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if of(f) {
				flags.AddFlag(f)
				grouped[f.Name] = true
			}
		})
		if flags.HasFlags() {
			all = append(all, flagSection{title, flags, maxWidth})
		}
	}
	for _, group := range groups {
		add(group.title+" flags:", func(f *pflag.Flag) bool { return slices.Contains(group.names, f.Name) })
	}
	n := len(all)
	add("Flags:", func(f *pflag.Flag) bool { return !grouped[f.Name] })
	if !own {
		all = slices.Concat(all[n:], all[:n])
	}
	return all
}
