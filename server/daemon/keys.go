package daemon

import (
	"fmt"
	"strings"

	"github.com/headgate/headgate/policy/keyhash"
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

// openHashKeys reads the secrets that keys are hashed with, if there are any.
func (d *Daemon) openHashKeys() (err error) {
	name := d.config.HashKeysFile
	if name == "" {
		return nil
	}
	if d.hashKeys, err = keyhash.Open(name); err != nil {
		return fmt.Errorf("hash-keys-file: %w", err)
	}
	d.follow(d.logged("hash-keys-file", func() (bool, error) {
		changed, err := d.hashKeys.Reload()
		if changed {
			d.config.Logger.Warn("the secrets of keys have changed", "secrets", d.hashKeys.Secrets().Count())
		}
		return changed, err
	}), name)
	return nil
}
