package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/policy"
)

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file and print its policies",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			config, err := readConfig(args[0])
			if err != nil {
				printExcerpt(c.ErrOrStderr(), err)
				return err
			}
			for _, name := range config.Policies.Names() {
				p, _ := config.Policies.Get(name)
				for _, limit := range p.Limits() {
					fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", name, limit)
				}
			}
			return nil
		},
	}
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

// printExcerpt shows the lines around a mistake.
func printExcerpt(w io.Writer, err error) {
	var e *policy.Error
	if errors.As(err, &e) && e.Excerpt != "" {
		fmt.Fprintln(w, e.Excerpt)
	}
}
