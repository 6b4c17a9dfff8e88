// Package store opens the store that a URL names.
package store

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/headgate/headgate"
	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/lease"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/stack"
)

// Memory is the URL of the store in this process's memory.
const Memory = "memory"

// Accepted says which URLs there are.
const Accepted = "memory, redis://, rediss://, redis+sentinel://, redis+cluster://, unix://"

// Options say what a URL does not.
type Options struct {
	// PasswordFile names a file with Redis's password; "" has none.
	PasswordFile string
	// Own is put behind the prefix of the keys on Redis, so that they are apart
	// from all others; "" puts nothing.
	Own string
	// Memory bounds the memory store.
	Memory memstore.Config
	// MaxStale is how long refusals are repeated without asking Redis; 0 asks
	// every time. See package near.
	MaxStale time.Duration
	// Lease says what is taken of Redis in advance; where it names no limits,
	// nothing is. See package lease.
	Lease lease.Config
	// Clock replaces the store's clock, for replaying exact answers.
	Clock func() time.Time
}

// Store is a store, and what its operator should know.
type Store struct {
	headgate.Store

	// Redis is the store on Redis, behind what stands in front of it; nil in
	// memory.
	Redis *redisstore.Store
	// Warnings are what the server's settings put at risk.
	Warnings []string
}

// openTimeout bounds how long a server may take to answer at start.
const openTimeout = 10 * time.Second

// Known reports whether a URL names a kind of store.
func Known(address string) bool {
	if address == Memory {
		return true
	}
	scheme, _, ok := strings.Cut(address, "://")
	return ok && rueidisadapter.Scheme(scheme)
}

// Check returns a [*headgate.InputError] for a URL that [Open] would refuse, without
// asking a server.
func Check(address string) error {
	if address == Memory {
		return nil
	}
	return rueidisadapter.Check(address)
}

// Redacted returns a URL for logs: without user and password, which end at the
// last @.
func Redacted(address string) string {
	if address == "" {
		return Memory
	}
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		scheme, _, _ := strings.Cut(address, "://")
		return scheme + "://…" + address[at:]
	}
	return address
}

// Open opens the store at a URL, or in memory. A server must answer.
func Open(ctx context.Context, address string, o Options) (Store, error) {
	if address == "" || address == Memory {
		if o.MaxStale != 0 {
			return Store{}, &headgate.InputError{Field: "--max-stale", Value: o.MaxStale.String(), Accepted: "0 where the store is memory: it answers as quickly as a repeated denial"}
		}
		o.Memory.Clock = o.Clock
		store, err := memstore.New(o.Memory)
		return Store{Store: store}, err
	}
	if o.PasswordFile != "" {
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		address += separator + "password_file=" + url.QueryEscape(o.PasswordFile)
	}
	if o.Own != "" {
		address = own(address, o.Own)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	opened, err := rueidisadapter.Open(ctx, address, redisstore.Config{Clock: o.Clock})
	if err != nil {
		return Store{}, err
	}
	warnings, err := opened.Check(ctx)
	if err != nil {
		_ = opened.Close()
		return Store{}, err
	}
	layered, err := stack.New(opened, opened, stack.Config{MaxStale: o.MaxStale, Lease: o.Lease})
	if err != nil {
		_ = opened.Close()
		return Store{}, err
	}
	return Store{Store: layered, Redis: opened, Warnings: warnings}, nil
}

// own extends the prefix of an address.
func own(address, more string) string {
	base, query, _ := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return address // opening it says what is wrong
	}
	prefix := values.Get("prefix")
	if prefix == "" {
		prefix = redisstore.DefaultPrefix
	}
	values.Set("prefix", prefix+"/"+more)
	return base + "?" + values.Encode()
}
