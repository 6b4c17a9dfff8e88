package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/redisstore/redisurl"
)

func newStore() *cobra.Command {
	c := &cobra.Command{Use: "store", Short: "Act on the Redis that servers share"}
	c.AddCommand(newAcceptLoss())
	return c
}

// acceptTimeout bounds the command's duration, because Redis may be unavailable.
const acceptTimeout = 10 * time.Second

func newAcceptLoss() *cobra.Command {
	var store, storePasswordFile string
	var output outputFlag
	c := &cobra.Command{
		Use:   "accept-loss --store URL",
		Short: "Trust a Redis that has lost data, before the limits have recovered",
		Long: `Trust a Redis that has lost data, before the limits have recovered.

After a loss of data (an empty Redis, an older snapshot) each server holds the keys that it
remembers to the units that they had, for as long as the limit takes to recover: a quota of a
day until its window ends. Within a second of this command all servers decide by the Redis
alone again. Keys may then spend again the units that the Redis has lost.

Exit status: 0 the loss is accepted, 2 an error.`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if !redisurl.Known(store) {
				return fmt.Errorf("--store %s: accepted: %s", strconv.Quote(open.Redacted(store)), redisurl.Schemes)
			}
			return acceptLoss(c.Context(), c.OutOrStdout(), redisurl.WithPasswordFile(store, storePasswordFile), output)
		},
	}
	c.Flags().StringVar(&store, "store", "", "the `URL` of the Redis, as for serve")
	c.Flags().StringVar(&storePasswordFile, "store-password-file", "", "`file` with the Redis password")
	output.addTo(c.Flags())
	cobra.CheckErr(c.MarkFlagRequired("store"))
	return c
}

func acceptLoss(ctx context.Context, w io.Writer, address string, output outputFlag) error {
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	store, err := rueidisadapter.Open(ctx, address, redisstore.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	if err := membership.AcceptLoss(ctx, store, ""); err != nil {
		return err
	}
	if output.json() {
		return writeJSON(w, map[string]bool{"accepted": true})
	}
	fmt.Fprintln(w, "accepted: the servers take the store's answers again within a second")
	return nil
}
