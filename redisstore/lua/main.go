// Command lua prints an assembled script of the Redis store with its comments or, without a name, the list of names.
//
//	go run ./redisstore/lua lookup_bucket
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/headgate/headgate/redisstore"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lua: "+err.Error())
		os.Exit(2)
	}
}

func run(args []string, out io.Writer) error {
	var names []string
	for name, text := range redisstore.Scripts() {
		if slices.Equal(args, []string{name}) {
			_, err := io.WriteString(out, text)
			return err
		}
		names = append(names, name)
	}
	list := strings.Join(names, "\n")
	if len(args) > 0 {
		return fmt.Errorf("%q is no script; accepted: one of\n%s", strings.Join(args, " "), list)
	}
	_, err := fmt.Fprintln(out, list)
	return err
}
