package policy

import (
	"crypto/sha256"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/policy/yamlfile"
	"github.com/headgate/headgate/redisstore/redisurl"
)

// Config is the content of a policies file.
type Config struct {
	// Policies contains the policies by name.
	Policies *Set
	// Routes maps HTTP requests to policies.
	Routes *route.Table
	// Listeners are the server's listeners.
	Listeners Listeners
	// Store is the store's URL. StorePasswordFile is the name of the file with its password. Both are "" if not set.
	Store, StorePasswordFile string

	file  *file // the base for With
	pause yamlfile.Pauser
	text  [sha256.Size]byte // hash of the file's text
}

// Empty returns the configuration for a file without any fields.
func Empty() *Config { return new(file).config(nil, func(error) {}) }

// config builds the configuration and reports all errors.
func (f *file) config(pause yamlfile.Pauser, report func(error)) *Config {
	b := f.set(pause, report)
	c := &Config{pause: pause, Policies: b.set, Routes: f.routes(b.set, b, report), Listeners: f.listeners(report), StorePasswordFile: value(f.Store.PasswordFile), file: f}
	if f.Store.URL != nil {
		c.Store = *f.Store.URL
		if err := f.checkStore(c.Store); err != nil {
			report(atField(err, "store"))
		}
	}
	return c
}

// acceptedStores lists the forms of a store URL. Package open contains the same list, but importing it would link a
// Redis client.
const acceptedStores = "memory, " + redisurl.Schemes

// checkStore returns an error for an invalid store URL.
func (*file) checkStore(address string) error {
	if address == "memory" {
		return nil
	}
	if !redisurl.Known(address) {
		return invalid("url", engine.Quote(redisurl.Redacted(address)), acceptedStores)
	}
	_, err := redisurl.Parse(address)
	if input, ok := errors.AsType[*engine.InputError](err); ok {
		return invalid("url", input.Value, input.Accepted)
	}
	return nil
}

// checkAddress returns an error for an invalid listen address.
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	n, notPort := strconv.ParseUint(port, 10, 16)
	if address == "off" || err == nil && notPort == nil && n <= 65535 {
		return nil
	}
	return invalid("address", engine.Quote(address), `a host and a port, such as "127.0.0.1:6380", or off`)
}

// sortedKeys returns the map's keys in sorted order, so that every run visits them in the same order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
