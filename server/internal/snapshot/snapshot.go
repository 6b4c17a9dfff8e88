// Package snapshot preserves the memory store's state across server restarts, in a file that is replaced atomically.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy/files"
)

// Bounds of Config.Every.
const (
	MinEvery = time.Second
	MaxEvery = 24 * time.Hour
)

// Open opens a snapshot for restoring. It returns nil if the file does not exist yet. A pipe, device or symbolic link
// causes an error, because a pipe can block the server forever, and the next snapshot would replace the link or device.
func Open(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // the first start
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file; accepted: the name of a file, which need not exist", path)
	}
	return os.Open(path) //nolint:gosec // the operator names the file
}

// Config configures a Keeper.
type Config struct {
	// Path is the file, and Every is the interval between snapshots.
	Path  string
	Every time.Duration
	Store *memstore.Store
	// Logger receives a line for each failed snapshot, and for the first success after it.
	Logger *slog.Logger
}

// Keeper writes snapshots. It is safe for concurrent use.
type Keeper struct {
	config Config

	mu    sync.Mutex
	stats Stats
}

// Stats holds a keeper's counts.
type Stats struct {
	// At is the time of the last write. It is zero if none was made. Keys is the number of keys in the last snapshot.
	At   time.Time
	Keys int64
	// Failed is the number of failed snapshots. Failing is true if the last one failed.
	Failed  int64
	Failing bool
}

// New returns a keeper.
func New(c Config) *Keeper { return &Keeper{config: c} }

// Run writes a snapshot every Config.Every until ctx ends. It does not write a final one.
func (k *Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(k.config.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = k.Save(ctx) // Save logs the error; the next tick retries
		}
	}
}

// Save writes a snapshot now. On error the previous one remains.
func (k *Keeper) Save(ctx context.Context) error {
	began, keys := time.Now(), int64(0)
	err := files.Replace(k.config.Path, func(w io.Writer) (err error) {
		keys, err = k.config.Store.Save(ctx, w)
		return err
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			k.config.Logger.Error("snapshot failed: the last one is kept", "file", k.config.Path, "last", k.stats.At, "error", err)
			k.stats.Failed, k.stats.Failing = k.stats.Failed+1, true
		}
		return fmt.Errorf("--snapshot: %w", err)
	}
	if k.stats.Failing {
		k.config.Logger.Info("snapshots are working again", "file", k.config.Path, "keys", keys)
	}
	k.stats.At, k.stats.Keys, k.stats.Failing = began, keys, false
	return nil
}

// Stats returns the counts.
func (k *Keeper) Stats() Stats {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stats
}
