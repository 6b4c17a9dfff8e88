package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/engine"
)

// span is a flag value: a duration in the units of limits, including days and weeks, or 0.
type span time.Duration

// Set implements [pflag.Value].
func (s *span) Set(text string) error {
	if text == "0" {
		*s = 0
		return nil
	}
	d, err := engine.ParseSpan(text)
	if err != nil {
		return errors.New("accepted: a duration such as 30m, 1h30m, 2d or 1w")
	}
	*s = span(d)
	return nil
}

// String implements [pflag.Value].
func (s *span) String() string {
	if *s == 0 {
		return "0"
	}
	return time.Duration(*s).String()
}

// Type implements [pflag.Value].
func (*span) Type() string { return "duration" }

// exactly returns a check that accepts one argument for each name. Its error names the missing arguments or the first
// extra one.
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

// atLeastOne accepts one or more arguments. Its error names the missing argument.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s: %s missing; usage: %s", c.Name(), name, c.UseLine())
		}
		return nil
	}
}

// atMostOne accepts at most one argument.
func atMostOne(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s: %q is one argument too many; usage: %s", c.Name(), args[1], c.UseLine())
	}
	return nil
}
