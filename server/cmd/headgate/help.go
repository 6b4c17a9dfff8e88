package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Bounds of the width of help text. If there is no terminal, the width is maxWidth.
const (
	minWidth = 40
	maxWidth = 100
)

// helpPrinter prints a command's help.
type helpPrinter struct {
	w     io.Writer
	width int
	bold  bool
}

// showHelp prints a command's help: its purpose, its examples, its commands and its flags.
func showHelp(c *cobra.Command) {
	p := helpPrinter{w: c.OutOrStdout(), width: min(max(terminalWidth(c.OutOrStdout()), minWidth), maxWidth)}
	if terminalOf(p.w) != nil {
		p.bold = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	fmt.Fprintln(p.w, wrap(cmp.Or(c.Long, c.Short), p.width))
	if c.Example != "" {
		p.heading("Examples:")
		fmt.Fprintln(p.w, c.Example)
	}
	p.heading("Usage:")
	if c.Runnable() && !c.HasSubCommands() {
		fmt.Fprintln(p.w, "  "+c.UseLine())
	} else {
		fmt.Fprintln(p.w, "  "+c.CommandPath()+" COMMAND [flags]")
	}
	p.commands(c)
	p.flags(c)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(p.w, "\n%s\n", wrap(c.CommandPath()+" COMMAND --help prints the examples and flags of a command, and headgate examples whole examples.", p.width))
	}
}

func (p *helpPrinter) heading(text string) {
	if p.bold {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	fmt.Fprintf(p.w, "\n%s\n", text)
}

// commands prints the subcommands by group.
func (p *helpPrinter) commands(c *cobra.Command) {
	widest := 0
	for _, below := range c.Commands() {
		widest = max(widest, len(below.Name()))
	}
	list := func(title, group string) {
		titled := false
		for _, below := range c.Commands() {
			if below.GroupID != group || !below.IsAvailableCommand() && below.Name() != "help" {
				continue
			}
			if !titled {
				p.heading(title)
				titled = true
			}
			lines := strings.Split(wrap(below.Short, p.width-widest-4), "\n")
			fmt.Fprintf(p.w, "  %-*s  %s\n", widest, below.Name(), strings.Join(lines, "\n"+strings.Repeat(" ", widest+4)))
		}
	}
	for _, group := range c.Groups() {
		list(group.Title, group.ID)
	}
	list("Commands:", "")
}

// flags prints a command's flags by group.
func (p *helpPrinter) flags(c *cobra.Command) {
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
		p.heading(title)
		fmt.Fprintf(p.w, "%s", groups[name].FlagUsagesWrapped(p.width))
	}
}

// wrap wraps text at width bytes, and joins the lines of a paragraph. It keeps empty and indented lines unchanged.
func wrap(text string, width int) string {
	var out []string
	column := 0 // column in the last line; 0 starts a new line
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			out, column = append(out, line), 0
			continue
		}
		for word := range strings.FieldsSeq(line) {
			if column > 0 && column+1+len(word) <= width {
				out[len(out)-1] += " " + word
				column += 1 + len(word)
				continue
			}
			out, column = append(out, word), len(word)
		}
	}
	return strings.Join(out, "\n")
}
