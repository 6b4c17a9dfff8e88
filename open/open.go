// Package open opens the store that a URL names.
package open

import (
	"context"
	"net/url"
	"strings"
	"time"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/layer/stack"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/redisstore/redisurl"
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
	// every time. See package denycache.
	MaxStale time.Duration
	// Lease says what is taken of Redis in advance; where it names no limits,
	// nothing is. See package prefetch.
	Lease prefetch.Config
	// Clock replaces the store's clock, for replaying exact answers.
	Clock func() time.Time
}

// Opened is a store, and what its operator should know.
type Opened struct {
	engine.Store

	// Redis is the store on Redis, behind what stands in front of it; nil in
	// memory.
	Redis *redisstore.Store
	// Warnings are what the server's settings put at risk.
	Warnings []string
}

// openTimeout bounds how long a server may take to answer at start.
const openTimeout = 10 * time.Second

// Redacted returns a URL for logs: without user and password.
func Redacted(address string) string {
	if address == "" {
		return Memory
	}
	return redisurl.Redacted(address)
}

// Store opens the store at a URL, or in memory where the URL is "memory" or "". A
// server must answer within 10 s. The error is an [*engine.InputError] where the URL
// or an option is at fault.
func Store(ctx context.Context, address string, o Options) (Opened, error) {
	if address == "" || address == Memory {
		if o.MaxStale != 0 {
			return Opened{}, &engine.InputError{Field: "--max-stale", Value: o.MaxStale.String(), Accepted: "0 where the store is memory: it answers as quickly as a repeated denial"}
		}
		o.Memory.Clock = o.Clock
		store, err := memstore.New(o.Memory)
		return Opened{Store: store}, err
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
		return Opened{}, err
	}
	warnings, err := opened.Check(ctx)
	if err != nil {
		_ = opened.Close()
		return Opened{}, err
	}
	layered, err := stack.New(opened, opened, stack.Config{MaxStale: o.MaxStale, Lease: o.Lease})
	if err != nil {
		_ = opened.Close()
		return Opened{}, err
	}
	return Opened{Store: layered, Redis: opened, Warnings: warnings}, nil
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
