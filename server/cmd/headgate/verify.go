package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/storetest/vectors"
)

func newVerify() *cobra.Command {
	var store string
	c := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Replay exact answers against an engine",
		Long: `Replay files of exact answers (see testdata/vectors) against an engine, in their
own time, and print each difference with its case and step.

Exit status: 0 all answers are exact, 1 differences, 2 a file cannot be read.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			if store != "memory" {
				return fmt.Errorf("--store %s: accepted: memory; other stores are not supported yet", strconv.Quote(store))
			}
			return verify(c.Context(), c.OutOrStdout(), files)
		},
	}
	c.Flags().StringVar(&store, "store", "memory", "the engine: memory")
	return c
}

// verify reads all files before it replays any, so that a bad one is an error
// of the call and not of the engine.
func verify(ctx context.Context, w io.Writer, names []string) error {
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
	different := 0
	for i, name := range names {
		found, err := verifyFile(ctx, &files[i])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		steps := 0
		for _, c := range files[i].Cases {
			steps += len(c.Steps)
		}
		fmt.Fprintf(w, "%s: %d cases, %d steps, %d differences\n", name, len(files[i].Cases), steps, len(found))
		for _, d := range found {
			fmt.Fprintf(w, "  %s\n", d)
		}
		different += len(found)
	}
	if different > 0 {
		return exitRefused
	}
	return nil
}

func verifyFile(ctx context.Context, f *vectors.File) ([]vectors.Difference, error) {
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return f.Replay(ctx, store, "verify", clock.Set)
}
