package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"
)

// newConfig returns the command that prints the configuration of a server.
func newConfig() *cobra.Command {
	a := new(adminClient)
	c := &cobra.Command{
		Use: "config", Short: "Print the settings, policies and routes of a running server, without secrets, as JSON", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return request(c, a, http.MethodGet, "/admin/v1/config", nil, func(w io.Writer, answer *json.RawMessage) {
				_ = printIndented(w, *answer) // it was decoded, so that it is JSON
				fmt.Fprintln(w)
			})
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
			return request(c, a, http.MethodPost, "/admin/v1/reload", struct{}{}, func(w io.Writer, answer *struct{ Generation uint64 }) {
				fmt.Fprintf(w, "generation %d\n", answer.Generation)
			})
		},
	}
	a.addTo(c)
	return c
}

// newLogLevel returns the command that prints or sets the level of a server's log.
func newLogLevel() *cobra.Command {
	a := new(adminClient)
	c := &cobra.Command{
		Use: "log-level [LEVEL]", Short: "Print the level of a server's log, or set it: debug, info, warn, error", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			type level struct {
				Level string `json:"level"`
			}
			out := func(w io.Writer, answer *level) { fmt.Fprintln(w, answer.Level) }
			if len(args) == 0 {
				return request(c, a, http.MethodGet, "/admin/v1/log-level", nil, out)
			}
			return request(c, a, http.MethodPost, "/admin/v1/log-level", level{args[0]}, out)
		},
	}
	a.addTo(c)
	return c
}
