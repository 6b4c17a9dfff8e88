package daemon

import (
	"context"
	"fmt"
	"strings"

	"github.com/headgate/headgate/policy/keyhash"
	"github.com/headgate/headgate/server/watch"
)

const (
	// maxCut is how many bytes of a client's key are shown at most, if not all of it.
	maxCut = 8
	// maxNamed is how many bytes are shown of a key that an operator has named.
	maxNamed = 64
)

// shownKey returns how lines of the log about requests, and spans, show a key. A hash is
// shown whole.
func (c *Config) shownKey() func(key string) string {
	if c.LogKeys || c.HashKeysFile != "" {
		return whole
	}
	return cut
}

// namedKey returns how the log shows a key that an operator has named in a call.
func (c *Config) namedKey() func(key string) string {
	if c.LogKeys {
		return whole
	}
	return func(key string) string {
		if len(key) <= maxNamed {
			return key
		}
		return strings.ToValidUTF8(key[:maxNamed], "") + "…"
	}
}

func whole(key string) string { return key }

// cut returns the beginning of a key: at most half of it, because keys can be addresses of
// people.
func cut(key string) string { return key[:min(len(key)/2, maxCut)] + "…" }

// openHashKeys reads the secrets that keys are hashed with; nil if there are none.
func openHashKeys(c *Config) (*keyhash.File, error) {
	if c.HashKeysFile == "" {
		return nil, nil //nolint:nilnil // a daemon that does not hash keys
	}
	f, err := keyhash.Open(c.HashKeysFile)
	if err != nil {
		return nil, fmt.Errorf("hash-keys-file: %w", err)
	}
	return f, nil
}

// reloadHashKeys reads the secrets again. If their file has an error, the last ones stay in
// force.
func (d *Daemon) reloadHashKeys() error {
	if d.hashKeys == nil {
		return nil
	}
	changed, err := d.hashKeys.Reload()
	switch {
	case err != nil:
		d.config.Logger.Error("the secrets of keys have errors; the last ones stay in force", "error", err)
		return fmt.Errorf("hash-keys-file: %w", err)
	case changed:
		d.config.Logger.Warn("the secrets of keys have changed", "secrets", d.hashKeys.Secrets().Count())
	}
	return nil
}

// followHashKeys reads the secrets again when their file changes, until ctx ends.
func (d *Daemon) followHashKeys(ctx context.Context) {
	if d.hashKeys != nil {
		d.followFile(ctx, d.config.HashKeysFile, d.reloadHashKeys)
	}
}

// followFile reads a file again when it changes, until ctx ends. Errors are in the log.
func (d *Daemon) followFile(ctx context.Context, name string, reload func() error) {
	w, err := watch.Path(name)
	if err != nil {
		d.config.Logger.Warn("a file is read again by SIGHUP only", "file", name, "error", err)
		return
	}
	_ = reload() // a change since the start
	w.Run(ctx, func() { _ = reload() })
}
