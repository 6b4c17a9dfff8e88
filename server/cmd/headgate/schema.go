package main

import (
	"github.com/spf13/cobra"

	"github.com/headgate/headgate/policy"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the policies file",
		Long: `Print the JSON Schema (draft 2020-12) of the policies file, for editors that complete
and check YAML. It describes the fields of this version. The check command finds more
mistakes, such as an override for a policy that does not exist.`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			text, err := policy.Schema()
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
}
