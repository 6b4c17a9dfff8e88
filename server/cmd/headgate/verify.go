package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore/redisurl"
	"github.com/headgate/headgate/storetest/vectors"
)

func newVerify() *cobra.Command {
	var store, storePasswordFile string
	var output outputFlag
	c := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Replay exact answers against an engine",
		Long: `Replay files of exact answers (see storetest/vectors) against an engine, with the time
of the files, and print each difference with its case and step. On Redis, verify uses
keys of its own and deletes them. Its scripts differ from those of the server only in
their source of time.

Exit status: 0 all answers are exact, 1 differences, 2 a file cannot be read.`,
		Args: atLeastOne("FILE"),
		RunE: func(c *cobra.Command, files []string) error {
			if store != open.Memory && !redisurl.Known(store) {
				return fmt.Errorf("--store %s: accepted: %s", strconv.Quote(open.Redacted(store)), open.Accepted)
			}
			results, err := verify(c.Context(), store, storePasswordFile, files)
			if err != nil {
				return err
			}
			return printVerified(c.OutOrStdout(), results, output)
		},
	}
	c.Flags().StringVar(&store, "store", open.Memory, "the engine: memory, or the `URL` of a Redis, as for serve")
	c.Flags().StringVar(&storePasswordFile, "store-password-file", "", "`file` with the Redis password")
	output.addTo(c.Flags())
	return c
}

// verified is the result for one file.
type verified struct {
	File        string   `json:"file"`
	Cases       int      `json:"cases"`
	Steps       int      `json:"steps"`
	Differences []string `json:"differences"`
}

// verify reads all files before it replays the first one, so that an invalid file is reported before the store is
// used.
func verify(ctx context.Context, address, storePasswordFile string, names []string) ([]verified, error) {
	files := make([]vectors.File, len(names))
	for i, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if files[i], err = vectors.Parse(data); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	// The keys have their own prefix, so that verify can run on a Redis in use.
	var now atomic.Int64 // µs
	store, err := open.URL(ctx, address, open.Options{
		PasswordFile: storePasswordFile, SubPrefix: "verify-" + rand.Text()[:12], Deadline: -1,
		Clock: func() time.Time { return time.UnixMicro(now.Load()) },
	})
	if err != nil {
		return nil, ofStore(err)
	}
	defer func() { _ = store.Close() }()
	results := make([]verified, len(names))
	for i, name := range names {
		if results[i], err = verifyFile(ctx, store, func(t time.Time) { now.Store(t.UnixMicro()) }, name, &files[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return results, nil
}

// verifyFile replays a file and deletes its keys.
func verifyFile(ctx context.Context, store engine.Store, set func(time.Time), name string, f *vectors.File) (verified, error) {
	found, err := f.Replay(ctx, store, "verify", set)
	err = errors.Join(err, f.Forget(context.WithoutCancel(ctx), store, "verify"))
	if err != nil {
		return verified{}, err
	}
	v := verified{File: name, Cases: len(f.Cases), Differences: []string{}}
	for _, c := range f.Cases {
		v.Steps += len(c.Steps)
	}
	for _, d := range found {
		v.Differences = append(v.Differences, fmt.Sprint(d))
	}
	return v, nil
}

// printVerified prints the results. It returns exitDenied if there are differences.
func printVerified(w io.Writer, results []verified, output outputFlag) error {
	different := 0
	for i := range results {
		different += len(results[i].Differences)
	}
	if output.json() {
		if err := writeJSON(w, map[string][]verified{"files": results}); err != nil {
			return err
		}
	} else {
		for i := range results {
			r := &results[i]
			fmt.Fprintf(w, "%s: %s, %s, %s\n", r.File, format.Counted(int64(r.Cases), "case"), format.Counted(int64(r.Steps), "step"), format.Counted(int64(len(r.Differences)), "difference"))
			for _, d := range r.Differences {
				fmt.Fprintf(w, "  %s\n", d)
			}
		}
	}
	if different > 0 {
		return exitDenied
	}
	return nil
}
