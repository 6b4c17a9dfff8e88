package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/server/internal/snapshot"
)

// errSnapshot is the configuration error for snapshots together with Redis, which persists the counters itself.
var errSnapshot = errors.New("--snapshot: Redis keeps what was spent; accepted: none, or --store memory")

// openStore opens the store. It restores a memory store from the snapshot.
func openStore(ctx context.Context, c *Config) (opened open.Opened, err error) {
	if c.Snapshot == "" {
		return open.URL(ctx, c.Store, c.StoreOptions)
	}
	if c.Store != "" && c.Store != open.Memory {
		return opened, errSnapshot
	}
	if c.SnapshotEvery < snapshot.MinEvery || c.SnapshotEvery > snapshot.MaxEvery {
		return opened, fmt.Errorf("--snapshot-every %s: accepted: %s to %s", c.SnapshotEvery, snapshot.MinEvery, snapshot.MaxEvery)
	}
	file, err := snapshot.Open(c.Snapshot)
	if err != nil {
		return opened, fmt.Errorf("--snapshot: %w", err)
	}
	if file == nil {
		return open.URL(ctx, c.Store, c.StoreOptions)
	}
	defer file.Close()
	options := c.StoreOptions
	options.Restore = file
	opened, err = open.URL(ctx, c.Store, options)
	switch {
	case errors.Is(err, memstore.ErrSnapshot):
		return opened, fmt.Errorf("--snapshot %s: %w; move the file away to start without it", c.Snapshot, err)
	case err != nil:
		return opened, fmt.Errorf("--snapshot %s: %w", c.Snapshot, err)
	}
	c.Logger.Info("snapshot restored", "file", c.Snapshot, "keys", opened.Memory.Stats().Keys)
	return opened, nil
}

// newSnapshot returns the snapshot keeper. It returns nil if there is no snapshot file.
func newSnapshot(c *Config, opened open.Opened) *snapshot.Keeper {
	if c.Snapshot == "" {
		return nil
	}
	return snapshot.New(snapshot.Config{Path: c.Snapshot, Every: c.SnapshotEvery, Store: opened.Memory, Logger: c.Logger})
}

// keepSnapshots writes snapshots until ctx ends.
func (d *Daemon) keepSnapshots(ctx context.Context) {
	if d.snapshot != nil {
		d.snapshot.Run(ctx)
	}
}

// saveSnapshot writes a snapshot now.
func (d *Daemon) saveSnapshot(ctx context.Context) error {
	if d.snapshot == nil {
		return nil
	}
	return d.snapshot.Save(ctx)
}
