// Command headgate is a rate limiter: a server for RESP, HTTP and gRPC, a gateway for HTTP, and their client.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	_ "time/tzdata" // calendar windows need time zones, which some systems lack

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/headgate/headgate/internal/errcode"
	"github.com/headgate/headgate/policy/yamlfile"
	"github.com/headgate/headgate/server/internal/adminapi"
)

// extra lists the constructors of commands that exist only in builds with a tag.
var extra []func() *cobra.Command

func main() { os.Exit(run()) }

// exit is an error that sets the exit status, but prints no message.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// The exit statuses of the program.
const (
	exitDenied    exit = 1 // allow, peek: denied; test, verify: differences
	exitUnusable  exit = 2 // invalid flags, files or addresses; the server cannot be reached
	statusSuccess      = 0
)

// run runs the program and returns its exit status. It prints each error on a line of standard error. If the error has
// a code, run then prints the address of the documentation about the code.
func run() int {
	cobra.EnableCommandSorting = false // the groups have their own order
	root, out := newRoot(), &output{File: os.Stdout}
	root.SetOut(out)
	err := out.result(root.Execute())
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
		if code := codeOf(err); code != "" {
			fmt.Fprintln(os.Stderr, "headgate: see "+errcode.Link(code))
		}
		return int(exitUnusable)
	}
}

// coded is an error with one of the codes in package errcode.
type coded struct {
	error

	code string
}

// Unwrap returns the error without the code.
func (e *coded) Unwrap() error { return e.error }

// codeOf returns the code of a command's error, or "" if it has none. Errors about flags and arguments have none,
// because their messages name the accepted values.
func codeOf(err error) string {
	if own, ok := errors.AsType[*coded](err); ok {
		return own.code
	}
	if problem, ok := errors.AsType[*adminapi.Error](err); ok {
		return cmp.Or(problem.Code, errcode.OfStatus(problem.Status))
	}
	if refused, ok := errors.AsType[*rueidis.RedisError](err); ok {
		return errcode.OfReply(refused.Error())
	}
	if _, ok := errors.AsType[*yamlfile.Error](err); ok {
		return errcode.InvalidFile
	}
	return ""
}

// texts returns one message for each error joined by errors.Join, or the message of err if it is not joined.
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
