// Command headgate is a rate limiter for clients that speak RESP or HTTP.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // calendar windows need time zones, and some systems have none

	"github.com/spf13/cobra"
)

// release is the version of a released binary. The linker sets it.
var release string

// extra makes the commands that only builds with a tag have.
var extra []func() *cobra.Command

// version returns the released version, or the version in the build info: a tag, a
// pseudo-version with the commit, or devel if the build has none.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

func main() { os.Exit(run()) }

// exit is an exit status without a message.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// The exit statuses of the program.
const (
	exitDenied    exit = 1 // take, peek: denied; verify: differences
	exitUnusable  exit = 2 // invalid flags, files or addresses; the server cannot be reached
	statusSuccess      = 0
)

// run runs the program and returns its exit status. Each error is a line on standard error.
func run() int {
	err := newRoot().Execute()
	var code exit
	switch {
	case err == nil:
		return statusSuccess
	case errors.As(err, &code):
		return int(code)
	default:
		for _, text := range texts(err) {
			fmt.Fprintln(os.Stderr, "headgate: "+strings.TrimPrefix(text, "headgate: "))
		}
		return int(exitUnusable)
	}
}

// texts returns the texts of the errors that errors.Join has put together.
func texts(err error) (all []string) {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // an error around them has a text of its own
	if !ok {
		return []string{err.Error()}
	}
	for _, one := range joined.Unwrap() {
		all = append(all, texts(one)...)
	}
	if strings.Join(all, "\n") != err.Error() { // it has a text of its own too
		return []string{err.Error()}
	}
	return all
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "headgate",
		Short:         "A rate limiter that says what it promises, and keeps it",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("headgate {{.Version}}\n")
	root.AddCommand(newServe(), newGateway(), newTake(), newPeek(), newGive(), newReset(), newRun(), newCheck(), newTest(), newExplain(), newSchema(), newVerify(), newBench(), newReplay(), newRelayout(), newStore(), newVersion())
	root.AddCommand(newPolicy(), newOverride(), newKey(), newLimited(), newTop(), newShadow(), newConfig(), newReload(), newLogLevel(), newHealth())
	for _, command := range extra {
		root.AddCommand(command())
	}
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), "headgate "+version()) },
	}
}
