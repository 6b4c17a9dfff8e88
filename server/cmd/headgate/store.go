package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/redisstore/redisurl"
	"github.com/headgate/headgate/server/internal/adminapi"
)

func newStore() *cobra.Command {
	c := &cobra.Command{Use: "store", Short: "Act on the Redis that servers share"}
	c.AddCommand(newAcceptLoss())
	return c
}

// ofStore gives an error of the server at --store the code of its class. The same text from a server of ours, such as
// NOAUTH, has another code.
func ofStore(err error) error {
	refused, ok := errors.AsType[*rueidis.RedisError](err)
	if !ok {
		return err
	}
	return &coded{fmt.Errorf("--store %w", err), (&redisstore.ServerError{Text: refused.Error()}).Class().String()}
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

On a server with an admin listener, the page and POST /admin/v1/store/accept-loss do the same,
and record who did it and why.

Exit status: 0 the loss is accepted or there is none, 2 an error.`,
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
		return ofStore(err)
	}
	defer func() { _ = store.Close() }()
	lost, err := membership.AcceptLoss(ctx, store, "")
	if err != nil {
		return err
	}
	if output.json() {
		return writeJSON(w, adminapi.AcceptedLoss{Lost: lost})
	}
	fmt.Fprintln(w, map[bool]string{
		true:  "accepted: the servers take the store's answers again within a second",
		false: "nothing to accept: no loss of data is recorded in this Redis",
	}[lost])
	return nil
}
