// Command headgate is a rate limiter for clients that speak RESP or HTTP.
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

	"github.com/headgate/headgate/internal/adminapi"
	"github.com/headgate/headgate/internal/errcode"
	"github.com/headgate/headgate/policy/yamlfile"
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

// run runs the program and returns its exit status. It prints each error as a line on standard error, and then the
// address of the section about the error, if it has a code.
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
		if code := codeOf(err); code != "" {
			fmt.Fprintln(os.Stderr, "headgate: see "+errcode.Link(code))
		}
		return int(exitUnusable)
	}
}

// coded is an error of a command with its code.
type coded struct {
	error

	code string
}

// Unwrap returns the error without the code.
func (e *coded) Unwrap() error { return e.error }

// codeOf returns the code of a command's error. It is "" for invalid flags and arguments: their message names the
// accepted values.
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
