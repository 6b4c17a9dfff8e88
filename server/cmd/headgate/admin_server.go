package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/internal/adminapi"
)

// newConfig returns the command that prints a server's configuration.
func newConfig() *cobra.Command {
	a := new(adminClient)
	c := &cobra.Command{
		Use: "config", Short: "Print the settings, policies and routes of a running server, without secrets, as JSON", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			_, text, err := send(c.Context(), a, adminapi.GetConfig, nil)
			if err != nil {
				return err
			}
			return printIndented(c.OutOrStdout(), text)
		},
	}
	a.addTo(c)
	return c
}

// newReload returns the command that makes a server read its policies file again.
func newReload() *cobra.Command {
	a := new(adminClient)
	c := &cobra.Command{
		Use: "reload", Short: "Make a server read its policies file again", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return request(c, a, adminapi.Reload, &adminapi.None{}, func(w io.Writer, answer *adminapi.Reloaded) {
				fmt.Fprintf(w, "generation %d\n", answer.Generation)
			})
		},
	}
	a.addTo(c)
	return c
}
