// Command headgate is a rate limiter for clients that speak RESP or HTTP.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	_ "time/tzdata" // calendar windows need time zones, which some systems lack

	"github.com/spf13/cobra"
)

// extra lists the constructors of commands that exist only in builds with a tag.
var extra []func() *cobra.Command

func main() { os.Exit(run()) }

// exit is an exit status without a message.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// The exit statuses of the program.
const (
	exitDenied    exit = 1 // allow, peek: denied; verify: differences
	exitUnusable  exit = 2 // invalid flags, files or addresses; the server cannot be reached
	statusSuccess      = 0
)

// run runs the program and returns its exit status. It prints each error as a line on standard error.
func run() int {
	cobra.EnableCommandSorting = false // the groups have their own order
	root, out := newRoot(), &output{File: os.Stdout}
	root.SetOut(out)
	err := out.result(execute(root))
	var code exit
	switch {
	case err == nil:
		return statusSuccess
	case errors.As(err, &code):
		return int(code)
	default:
		for _, text := range texts(err) {
			fmt.Fprintln(os.Stderr, "headgate: "+strings.ReplaceAll(strings.TrimPrefix(text, "headgate: "), ": headgate: ", ": "))
		}
		return int(exitUnusable)
	}
}

// texts returns the messages of errors joined by errors.Join.
func texts(err error) (all []string) {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // an error that wraps them has a text of its own
	if !ok {
		return []string{err.Error()}
	}
	for _, one := range joined.Unwrap() {
		all = append(all, texts(one)...)
	}
	if strings.Join(all, "\n") != err.Error() { // it has a message of its own
		return []string{err.Error()}
	}
	return all
}
