// Command headgate is a rate limiter for any client that speaks RESP or HTTP.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // calendar windows need zones, also where the system has none

	"github.com/spf13/cobra"
)

// version returns the version from the build info: a tag, or a pseudo-version
// that names the commit. It is devel where the build has none.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

func main() { os.Exit(run()) }

// exit is an outcome that is not an error of use: the status says it, and
// nothing more is printed.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// What the program's exit status means.
const (
	exitRefused   exit = 1 // take, peek: refused; verify: differences
	exitUnusable  exit = 2 // bad flags, files or addresses; server not reached
	statusSuccess      = 0
)

// run returns the exit status. Whatever is wrong with the call is one line on
// standard error, and nothing is started.
func run() int {
	err := newRoot().Execute()
	var code exit
	switch {
	case err == nil:
		return statusSuccess
	case errors.As(err, &code):
		return int(code)
	default:
		fmt.Fprintln(os.Stderr, "headgate: "+strings.TrimPrefix(err.Error(), "headgate: "))
		return int(exitUnusable)
	}
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
	root.AddCommand(newServe(), newTake(), newPeek(), newGive(), newReset(), newCheck(), newSchema(), newVerify(), newBench(), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), "headgate "+version()) },
	}
}
