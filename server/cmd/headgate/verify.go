package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore/redisurl"
	"github.com/headgate/headgate/storetest/vectors"
)

func newVerify() *cobra.Command {
	var address, passwordFile string
	c := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Replay exact answers against an engine",
		Long: `Replay files of exact answers (see testdata/vectors) against an engine, with the time
of the files, and print each difference with its case and step. On Redis, verify uses
keys of its own and deletes them. Its scripts differ from those of the server only in
their source of time.

Exit status: 0 all answers are exact, 1 differences, 2 a file cannot be read.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			if address != open.Memory && !redisurl.Known(address) {
				return fmt.Errorf("--store %s: accepted: %s", strconv.Quote(open.Redacted(address)), open.Accepted)
			}
			return verify(c.Context(), c.OutOrStdout(), address, passwordFile, files)
		},
	}
	c.Flags().StringVar(&address, "store", open.Memory, "the engine: memory, or the `URL` of a Redis, as for serve")
	c.Flags().StringVar(&passwordFile, "store-password-file", "", "`file` with the password of the store's Redis")
	return c
}

// verify reads all files before it replays the first, so that an invalid file is an error
// before the engine is called.
func verify(ctx context.Context, w io.Writer, address, passwordFile string, names []string) error {
	files := make([]vectors.File, len(names))
	for i, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if files[i], err = vectors.Parse(data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	// Its own keys, so that it can run on a Redis in use.
	clock := headgatetest.NewClock()
	store, err := open.Store(ctx, address, open.Options{
		PasswordFile: passwordFile, Own: "verify-" + rand.Text()[:12], Clock: clock.Now, Deadline: -1,
	})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	different := 0
	for i, name := range names {
		found, err := verifyFile(ctx, w, store, clock, name, &files[i])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		different += found
	}
	if different > 0 {
		return exitDenied
	}
	return nil
}

// verifyFile replays a file, prints the differences and deletes the keys.
func verifyFile(ctx context.Context, w io.Writer, store engine.Store, clock *headgatetest.Clock, name string, f *vectors.File) (int, error) {
	found, err := f.Replay(ctx, store, "verify", clock.Set)
	err = errors.Join(err, f.Forget(context.WithoutCancel(ctx), store, "verify"))
	if err != nil {
		return 0, err
	}
	steps := 0
	for _, c := range f.Cases {
		steps += len(c.Steps)
	}
	fmt.Fprintf(w, "%s: %d cases, %d steps, %d differences\n", name, len(f.Cases), steps, len(found))
	for _, d := range found {
		fmt.Fprintf(w, "  %s\n", d)
	}
	return len(found), nil
}
