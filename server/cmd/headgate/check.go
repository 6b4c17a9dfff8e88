package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/policy"
)

func newCheck() *cobra.Command {
	output := ""
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file and print its policies",
		Long: `Check a configuration file. What it says is printed, or everything that is wrong
with it, each with its place. Exit status: 0 right, 2 wrong.`,
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("--output %q: accepted: text, json", output)
			}
			config, err := readConfig(args[0])
			if output == "json" {
				return checkedAsJSON(c.OutOrStdout(), config, err)
			}
			if err != nil {
				return mistakes(c.ErrOrStderr(), err)
			}
			for _, p := range config.Policies.Summaries() {
				printPolicy(c.OutOrStdout(), p)
			}
			return nil
		},
	}
	c.Flags().StringVar(&output, "output", "text", "text or json")
	return c
}

// printPolicy prints a line for each limit and each override. What is not the
// default follows in parentheses.
func printPolicy(w io.Writer, p policy.Summary) {
	more := ""
	if said := p.NonDefaults(); len(said) > 0 {
		more = " (" + strings.Join(said, ", ") + ")"
	}
	for _, limit := range p.Limits {
		fmt.Fprintf(w, "%s: %s%s\n", p.Name, limit, more)
	}
	for _, o := range p.Overrides {
		fmt.Fprintf(w, "%s for %s: %s\n", p.Name, o.Key, o.Limit)
	}
}

// checkedAsJSON prints the policies, or what is wrong.
func checkedAsJSON(w io.Writer, config *policy.Config, err error) error {
	var said struct {
		Policies []policy.Summary `json:"policies,omitempty"`
		Errors   []mistake        `json:"errors,omitempty"`
	}
	var wrong policy.Errors
	switch {
	case err == nil:
		said.Policies = config.Policies.Summaries()
	case errors.As(err, &wrong):
		for _, e := range wrong {
			said.Errors = append(said.Errors, mistake{e.File, e.Line, e.Column, e.Message})
		}
	default:
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if failed := encoder.Encode(said); failed != nil {
		return failed
	}
	if err != nil {
		return exitUnusable
	}
	return nil
}

type mistake struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func readConfig(path string) (*policy.Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, policy.MaxFileBytes+1))
	if err != nil {
		return nil, err
	}
	return policy.Parse(path, data)
}

// mistakes shows each mistake with the lines around it. The last is left for the
// program to print.
func mistakes(w io.Writer, err error) error {
	var wrong policy.Errors
	if !errors.As(err, &wrong) {
		return err
	}
	for i, e := range wrong {
		if e.Excerpt != "" {
			fmt.Fprintln(w, e.Excerpt)
		}
		if i < len(wrong)-1 {
			fmt.Fprintf(w, "headgate: %s\n", e)
		}
	}
	return wrong[len(wrong)-1]
}
