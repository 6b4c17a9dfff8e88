package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

func newCheck() *cobra.Command {
	var output outputFlag
	processes := 1
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file and print its policies",
		Long: `Check a configuration file. Print its policies, or the first error of each limit, policy and route with its position.
A file of envoyproxy/ratelimit, with domain and descriptors, or a directory of such files,
is checked as serve's --envoy-config reads it: its rules are printed, or its errors in that
server's words.
With --processes N, notes name the limits that N servers cannot divide while Redis is unavailable.

Exit status: 0 valid, 2 invalid.`,
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if lines, ok, err := checkRules(args[0], string(output)); ok {
				fmt.Fprintf(c.OutOrStdout(), "%s", lines)
				return err
			}
			if processes < 1 || processes > engine.MaxMembers {
				return fmt.Errorf("--processes %d: accepted: 1 to %d", processes, engine.MaxMembers)
			}
			config, err := policy.Reader{Gateway: true}.Reload(args[0], nil)
			if output.json() {
				return printJSON(c.OutOrStdout(), config, processes, err)
			}
			if err != nil {
				return printErrors(c.ErrOrStderr(), err)
			}
			for _, p := range config.Policies.Summaries() {
				printPolicy(c.OutOrStdout(), p)
			}
			for _, r := range config.RouteSummaries() {
				printRoute(c.OutOrStdout(), &r)
			}
			for _, note := range notes(config, processes) {
				fmt.Fprintf(c.OutOrStdout(), "note: %s\n", note)
			}
			return nil
		},
	}
	c.Flags().IntVar(&processes, "processes", processes, "the number of servers on the Redis, 1 to 1000")
	output.addTo(c.Flags())
	return c
}

// printPolicy prints a line for each limit and each override of a policy. Settings that differ from the defaults follow
// in parentheses.
func printPolicy(w io.Writer, p policy.Summary) {
	more := ""
	if settings := policy.NonDefaults(&p.Settings); len(settings) > 0 {
		more = " (" + strings.Join(settings, ", ") + ")"
	}
	for _, limit := range p.Limits {
		fmt.Fprintf(w, "%s: %s%s\n", p.Name, limit, more)
	}
	for _, o := range p.Overrides {
		fmt.Fprintf(w, "%s for %s: %s\n", p.Name, o.Key, o.Limit)
	}
}

// maxNamed is the maximum number of policies named in a note.
const maxNamed = 10

// notes lists the settings in a file that have no effect, and the policies whose requests get errors during a store
// outage, or less than the limit by the shares of the given number of processes.
func notes(config *policy.Config, processes int) []string {
	all := append(config.Notes(), config.ShareNotes(processes)...)
	var names []string
	for _, name := range config.Policies.Names() {
		if p, ok := config.Policies.Get(name); ok && p.Answers().Fails() {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return all
	}
	named := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return append(all, "while the store is unavailable, the failure mode of some policies answers with errors ("+named+"); servers stay ready, unless --ready-needs-store is set")
}

func printRoute(w io.Writer, r *policy.RouteSummary) {
	charges, more := make([]string, len(r.Charges)), ""
	for i := range r.Charges {
		charges[i] = r.Charges[i].String()
	}
	if r.Class != "" {
		more += " (class " + r.Class + ")"
	}
	if r.EmptyKey == "skip" {
		more += " (empty key: skip)"
	}
	if r.Status != 0 {
		more += fmt.Sprintf(" (empty key: %d)", r.Status)
	}
	if r.Upstream != "" {
		more += " (upstream " + r.Upstream + ")"
	}
	if r.Refund {
		more += " (refund on error)"
	}
	fmt.Fprintf(w, "route %d: %s: %s%s\n", r.Index, r.Match, strings.Join(charges, "; "), more)
}

// printJSON prints the policies and routes, or the errors.
func printJSON(w io.Writer, config *policy.Config, processes int, err error) error {
	var output struct {
		Policies []policy.Summary      `json:"policies,omitempty"`
		Routes   []policy.RouteSummary `json:"routes,omitempty"`
		Notes    []string              `json:"notes,omitempty"`
		Errors   policy.Errors         `json:"errors,omitempty"`
	}
	switch {
	case err == nil:
		output.Policies, output.Routes, output.Notes = config.Policies.Summaries(), config.RouteSummaries(), notes(config, processes)
	case errors.As(err, &output.Errors):
	default:
		return err
	}
	if failed := writeJSON(w, output); failed != nil {
		return failed
	}
	if err != nil {
		return exitUnusable
	}
	return nil
}

// printErrors prints the messages of invalid settings with the lines around them. It does not print the last message,
// but returns the last error, because run prints it. It returns any other error unchanged.
func printErrors(w io.Writer, err error) error {
	var invalid policy.Errors
	if !errors.As(err, &invalid) {
		return err
	}
	for i, e := range invalid {
		if e.Excerpt != "" {
			fmt.Fprintln(w, e.Excerpt)
		}
		if i < len(invalid)-1 {
			fmt.Fprintf(w, "headgate: %s\n", e)
		}
	}
	return invalid[len(invalid)-1]
}
