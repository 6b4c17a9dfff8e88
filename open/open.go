// Package open opens the store at a URL, with the layers that the server puts in front
// of it.
package open

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/layer/stack"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/redisstore/redisurl"
)

// Memory is the URL of the store in the memory of this process.
const Memory = "memory"

// Accepted lists the forms of a store URL, for error messages.
const Accepted = Memory + ", " + redisurl.Schemes

// Options are the settings of a store that are not in its URL.
type Options struct {
	// PasswordFile is the file with the password of the Redis; "" is none.
	PasswordFile string
	// Own extends the prefix of all keys on Redis, so that they collide with no
	// other program's: with Own "a" the prefix p becomes p/a. "" leaves the prefix.
	Own string
	// Memory bounds the memory store.
	Memory memstore.Config
	// Restore has a snapshot with which the memory store begins; nil is none. See
	// [memstore.Restore].
	Restore io.Reader
	// Deadline bounds each call of a Redis, so that one that hangs keeps no caller longer, unless
	// the caller's context ends before: up to 1 min. 0 is what the URL says (deadline=50ms), and
	// 50 ms by default; negative is none. It bounds the wait for replicas too.
	Deadline time.Duration
	// MaxStale is how long a denial is repeated without a call of Redis; 0 calls
	// Redis for every request. See package denycache.
	MaxStale time.Duration
	// Prefetch says of which limits units are prefetched from Redis, and how many. By
	// default of none. See package prefetch.
	Prefetch prefetch.Config
	// Fallback sets up the answers of this process while the Redis is away; nil is none. See
	// package fallback.
	Fallback *fallback.Config
	// StartAway opens the store although its Redis cannot be reached, does not answer within
	// 2 s or still loads. [Opened.Away] says so. It is tried again beside the calls, which
	// fail, or are answered by Fallback, until then.
	StartAway bool
	// Batch sets up group commit in front of a Redis.
	Batch batch.Config
	// Wrap puts a store in front of the one on Redis, behind all layers, to observe its
	// calls; nil does not.
	Wrap func(engine.Store) engine.Store
	// Clock replaces the store's clock in tests and replays; nil is the real one.
	Clock func() time.Time
}

// Opened is an open store, with warnings for its operator.
type Opened struct {
	engine.Store

	// Memory is the memory store; nil on Redis.
	Memory *memstore.Store
	// Redis is the store on Redis, without the layers in front of it; nil in memory.
	Redis *redisstore.Store
	// Prefetch is the prefetch layer; nil if there is none.
	Prefetch *prefetch.Store
	// Fallback is the layer that answers while the Redis is away; nil if there is none.
	Fallback *fallback.Store
	// Away is why a Redis that may be away was not asked; nil if it has answered. Then
	// there are no Warnings: Redis.Check has them when it is back.
	Away error
	// Warnings say which settings of the Redis server put counters at risk.
	Warnings []string
}

// Unwrap returns the store with its layers.
func (o Opened) Unwrap() engine.Store { return o.Store }

// How long a Redis may take to answer its first calls, and one that may be away.
const (
	openTimeout     = 10 * time.Second
	openAwayTimeout = 2 * time.Second
)

// Redacted returns a store URL without user and password, for logs.
func Redacted(address string) string {
	if address == "" {
		return Memory
	}
	return redisurl.Redacted(address)
}

// Store opens the store at a URL; "memory" and "" are the memory of this process. A
// Redis must answer within 10 s, unless it may be away ([Options.StartAway]). The caller closes the store. The error is an
// [*engine.InputError] if the URL or an option is invalid, and otherwise that of the
// connection.
func Store(ctx context.Context, address string, o Options) (Opened, error) {
	if address == "" || address == Memory {
		if o.MaxStale != 0 {
			return Opened{}, &engine.InputError{Field: "--max-stale", Value: o.MaxStale.String(), Accepted: "0 where the store is memory: it answers as quickly as a repeated denial"}
		}
		o.Memory.Clock = o.Clock
		store, err := o.memory()
		return Opened{Store: store, Memory: store}, err
	}
	within, err := o.deadline(address)
	if err != nil {
		return Opened{}, err
	}
	address = redisurl.WithPasswordFile(address, o.PasswordFile)
	if o.Own != "" {
		address = extendPrefix(address, o.Own)
	}
	opened, warnings, away, err := o.redis(ctx, address)
	if err != nil {
		return Opened{}, err
	}
	behind := engine.Store(opened)
	if o.Wrap != nil {
		behind = o.Wrap(behind)
	}
	layered, err := stack.New(behind, opened, stack.Config{Batch: o.Batch, MaxStale: o.MaxStale, Prefetch: o.Prefetch, Fallback: o.fallback(address, within, opened)})
	if err != nil {
		_ = opened.Close()
		return Opened{}, err
	}
	last, _ := layered.(*fallback.Store)
	if last != nil {
		layered = last.Unwrap()
	}
	result := Opened{Store: layered, Redis: opened, Fallback: last, Warnings: warnings, Away: away}
	result.Prefetch, _ = layered.(*prefetch.Store)
	if last != nil {
		result.Store = last
	}
	if within > 0 {
		result.Store = &bounded{result.Store, within}
	}
	return result, nil
}

// redis opens the store on a Redis and checks it. away is why it could not be asked.
func (o *Options) redis(ctx context.Context, address string) (store *redisstore.Store, warnings []string, away, err error) {
	within, open := openTimeout, rueidisadapter.Open
	if o.StartAway {
		within, open = openAwayTimeout, rueidisadapter.OpenLate
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if store, err = open(ctx, address, redisstore.Config{Clock: o.Clock}); err != nil {
		return nil, nil, nil, err
	}
	warnings, err = store.Check(ctx)
	switch {
	case err == nil:
		return store, warnings, nil, nil
	case o.StartAway && fallback.Away(err):
		return store, nil, err, nil
	default:
		return nil, nil, nil, errors.Join(err, store.Close())
	}
}

// memory opens the memory store.
func (o *Options) memory() (*memstore.Store, error) {
	if o.Restore != nil {
		return memstore.Restore(o.Memory, o.Restore)
	}
	return memstore.New(o.Memory)
}

// clusterMarkers is how many markers there are on a Cluster. Of three masters, each has one
// with a probability of 99.5 %.
const clusterMarkers = 16

// A Cluster has this many slots, in this many lanes, which can be away one by one.
const (
	slots        = 1 << 14
	clusterLanes = 64
)

// fallback returns the settings of the layer for a store.
func (o *Options) fallback(address string, within time.Duration, store *redisstore.Store) *fallback.Config {
	if o.Fallback == nil {
		return nil
	}
	c := *o.Fallback
	if strings.Contains(address, "+cluster://") {
		c.Markers = cmp.Or(c.Markers, clusterMarkers)
		// A master has ranges of slots, of which the lanes are smaller ones.
		c.Lanes, c.Lane = clusterLanes, func(op *engine.Op, charge int) int { return store.SlotOf(op, charge) / (slots / clusterLanes) }
	}
	if c.Slow == 0 {
		c.Slow = slow(within)
	}
	return &c
}

// extendPrefix appends /suffix to the key prefix in a URL.
func extendPrefix(address, suffix string) string {
	base, query, _ := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return address // opening it reports the error
	}
	prefix := values.Get("prefix")
	if prefix == "" {
		prefix = redisstore.DefaultPrefix
	}
	values.Set("prefix", prefix+"/"+suffix)
	return base + "?" + values.Encode()
}
