package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headgate/headgate/policy/yamlfile"
)

// flagError rewords an error from parsing flags. For an invalid value it names the value and the accepted ones. For an
// unknown flag it suggests the nearest name.
func flagError(c *cobra.Command, err error) error {
	switch e := err.(type) { //nolint:errorlint // pflag returns them unwrapped
	case *pflag.NotExistError:
		return unknownFlag(c, e)
	case *pflag.InvalidValueError:
		return fmt.Errorf("--%s %s: %saccepted: %s", e.GetFlag().Name, strconv.Quote(e.GetValue()), yamlfile.DidYouMean(e.GetValue(), flagWords[e.GetFlag().Name]), acceptedBy(e))
	default:
		return fmt.Errorf("%s: %w", pathOf(c), err)
	}
}

// pathOf returns a command's words without the program's name, such as "policy set".
func pathOf(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "headgate ") }

func unknownFlag(c *cobra.Command, e *pflag.NotExistError) error {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	dashes := "--"
	if e.GetSpecifiedShortnames() != "" {
		dashes = "-"
	}
	hint := yamlfile.DidYouMean(e.GetSpecifiedName(), names)
	return fmt.Errorf("%s: unknown flag %s%s; %saccepted: the flags in %s --help",
		pathOf(c), dashes, e.GetSpecifiedName(), strings.Replace(hint, `"`, `"--`, 1), c.CommandPath())
}

// acceptedBy describes the values that a flag accepts.
func acceptedBy(e *pflag.InvalidValueError) string {
	if _, accepted, ok := strings.Cut(e.Unwrap().Error(), "accepted: "); ok {
		return accepted
	}
	return map[string]string{
		"bool": "true, false", "int": "a whole number", "int64": "a whole number", "float32": "a number", "float64": "a number",
		"duration": "a duration such as 1m30s or 500ms",
	}[e.GetFlag().Value.Type()]
}
