package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// exactly accepts one argument for each name. Its error names the missing arguments or the
// first one too many.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s: %s missing; usage: %s", c.Name(), strings.Join(names[len(args):], " and "), c.UseLine())
		case len(args) > len(names):
			return fmt.Errorf("%s: %q is one argument too many; usage: %s", c.Name(), args[len(names)], c.UseLine())
		default:
			return nil
		}
	}
}
