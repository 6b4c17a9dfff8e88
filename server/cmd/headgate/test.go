package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/policytest"
)

func newTest() *cobra.Command {
	var output outputFlag
	c := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run test cases for a policies file, in virtual time",
		Long: `Run test cases for a policies file. Each step of a test is a request at a time, with the answer
that it must have. Time is virtual and the store is in memory: a day passes at once, and no
server is called. Prints each field that differs.

Exit status: 0 no differences, 1 differences, 2 a file is invalid.`,
		Args: atLeastOne("FILE"),
		RunE: func(c *cobra.Command, names []string) error {
			files := make([]*policytest.File, len(names))
			for i, name := range names {
				f, err := policytest.Load(name)
				if err != nil {
					return printErrors(c.ErrOrStderr(), err)
				}
				files[i] = f
			}
			return runTests(c.Context(), c.OutOrStdout(), files, output)
		},
	}
	output.addTo(c.Flags())
	return c
}

// runTests runs all files. If there are differences, it returns an error that sets the exit status.
func runTests(ctx context.Context, w io.Writer, files []*policytest.File, output outputFlag) error {
	results, different := make([]policytest.Result, len(files)), 0
	for i, f := range files {
		r, err := f.Run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		results[i] = r
		different += len(r.Differences)
	}
	if err := printResults(w, results, output); err != nil {
		return err
	}
	if different > 0 {
		return exitDenied
	}
	return nil
}

func printResults(w io.Writer, results []policytest.Result, output outputFlag) error {
	if output.json() {
		return writeJSON(w, struct {
			Files []policytest.Result `json:"files"`
		}{results})
	}
	for i := range results {
		r := &results[i]
		for j := range r.Differences {
			fmt.Fprintln(w, r.Differences[j].String())
		}
		fmt.Fprintf(w, "%s: %s, %s, %s\n", r.File, format.Counted(int64(r.Tests), "test"), format.Counted(int64(r.Steps), "step"), format.Counted(int64(len(r.Differences)), "difference"))
	}
	return nil
}
