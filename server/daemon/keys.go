package daemon

import (
	"fmt"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/keyhash"
)

const (
	// maxCut is the maximum number of bytes that are shown if a client's key is not shown in full.
	maxCut = 8
	// maxNamed is the maximum number of bytes that are shown of a key that an operator has sent.
	maxNamed = 64
)

// shownKey returns the function that formats keys in spans and in log lines about requests. Hashes are shown in full.
func (c *Config) shownKey() func(key string) string {
	if c.LogKeys || c.HashKeysFile != "" {
		return whole
	}
	return cut
}

// namedKey returns the function that formats a key for the log if an operator has sent it.
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

// cut returns the beginning of a key, at most half of it and at most maxCut bytes, because a key can be a person's
// address.
func cut(key string) string { return key[:min(len(key)/2, maxCut)] + "…" }

// openHashKeys reads the secrets for hashing keys, if configured.
func (d *Daemon) openHashKeys() (err error) {
	name := d.config.HashKeysFile
	if name == "" {
		return nil
	}
	if d.hashKeys, err = keyhash.Open(name); err != nil {
		return fmt.Errorf("--hash-keys-file: %w", err)
	}
	d.follow(d.logged("hash-keys-file", func() (bool, error) {
		changed, err := d.hashKeys.Reload()
		if changed {
			d.config.Logger.Warn("key-hashing secrets changed", "secrets", d.hashKeys.Secrets().Count())
		}
		return changed, err
	}), name)
	return nil
}

// stored returns the function for [admin.Config.Stored]. It returns nil in memory.
func (d *Daemon) stored() func(*engine.Op) []string {
	if d.store.Redis == nil {
		return nil
	}
	return d.store.Redis.Keys
}
