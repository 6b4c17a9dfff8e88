package main

import (
	"fmt"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/redisstore/redisurl"
)

func newRelayout() *cobra.Command {
	var store, storePasswordFile, to string
	var output outputFlag
	c := &cobra.Command{
		Use:   "relayout --store URL --to LAYOUT",
		Short: "Move the states on a Redis to another layout",
		Long: `Move the states of token buckets, pacers and fixed windows on a Redis to another layout:
keys, or hash:N for N hashes a limit. Stop all servers that use the Redis first; those
that run refuse to decide until the move has ended, and then until they are started with
the new layout in their --store.

What was spent stays spent. A move that was interrupted is repeated, to the same layout
or to another one.

Exit status: 0 all states are moved, 2 an error.`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if !redisurl.Known(store) {
				return fmt.Errorf("--store %s: accepted: %s", strconv.Quote(open.Redacted(store)), redisurl.Schemes)
			}
			if _, err := redisstore.ParseLayout(to); err != nil {
				return fmt.Errorf("--to: %w", err)
			}
			return relayout(c, redisurl.WithPasswordFile(store, storePasswordFile), to, output)
		},
	}
	c.Flags().StringVar(&store, "store", "", "the `URL` of the Redis, as for serve; its layout is not read")
	c.Flags().StringVar(&storePasswordFile, "store-password-file", "", "`file` with the Redis password")
	c.Flags().StringVar(&to, "to", "", "the `layout` to move to: keys, or hash:1 to hash:1024")
	output.addTo(c.Flags())
	for _, name := range []string{"store", "to"} {
		cobra.CheckErr(c.MarkFlagRequired(name))
	}
	return c
}

// relayout moves the states, and prints the progress every second.
func relayout(c *cobra.Command, address, to string, output outputFlag) error {
	w, progress := c.OutOrStdout(), c.ErrOrStderr()
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	last := time.Now()
	moved, err := rueidisadapter.Relayout(ctx, address, to, func(m redisstore.MovedStates) {
		if time.Since(last) >= time.Second {
			last = time.Now()
			fmt.Fprintf(progress, "%d states moved\n", m.States)
		}
	})
	if err != nil && moved.States > 0 {
		return fmt.Errorf("after %d states: %w", moved.States, err)
	}
	if err != nil {
		return err
	}
	if output.json() {
		return writeJSON(w, struct {
			States     int64  `json:"states"`
			Layout     string `json:"layout"`
			Unreadable int64  `json:"unreadable"`
		}{moved.States, to, moved.Unreadable})
	}
	fmt.Fprintf(w, "%d states moved to %s\n", moved.States, to)
	if moved.Unreadable > 0 {
		fmt.Fprintf(w, "%d values are no states and stay where they are\n", moved.Unreadable)
	}
	return nil
}
