// Package open opens the store for a URL and wraps it with the same layers as the server does.
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
	"github.com/headgate/headgate/layer/membership"
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

// Options are the settings of a store that are not part of its URL.
type Options struct {
	// PasswordFile is the file that contains the Redis password. It is "" if there is no such file.
	PasswordFile string
	// SubPrefix extends the prefix of all keys in Redis, so that they do not collide with the keys of other programs. If
	// it is "a", the prefix p becomes p/a. If it is empty, the prefix is unchanged.
	SubPrefix string
	// Memory configures the memory store.
	Memory memstore.Config
	// Restore is a snapshot with which the memory store starts. If it is nil, the store starts empty. See
	// [memstore.Restore].
	Restore io.Reader
	// Deadline bounds each call to Redis, 1 ms to 1 min, so that a hanging call does not block its caller any longer.
	// The caller's context can end a call earlier. 0 means the deadline in the URL (deadline=50ms). If the URL
	// contains no deadline, 0 means 50 ms. A negative value means no deadline.
	Deadline time.Duration
	// Prefetch configures the limits whose units are prefetched from Redis, and the number of prefetched units. By
	// default no units are prefetched. See package prefetch.
	Prefetch prefetch.Config
	// Fallback configures this process's answers while Redis is unavailable. If it is nil, there is no fallback. Set its
	// Expect, the number of processes. See package fallback.
	Fallback *fallback.Config
	// Membership configures how each process counts the other processes, for Prefetch and Fallback. See package
	// membership.
	Membership membership.Config
	// StartAway opens the store even if its Redis cannot be reached, does not answer within 2 s, or cannot decide for
	// now: it is loading, full, read-only, or without its disk or replicas. In that case [Opened.Away] is set, and
	// reconnecting continues in the background. Until it succeeds, calls fail, or Fallback answers them. A Redis that
	// cannot decide gets no fallback until it has decided something: see [redisstore.Store.Refused].
	StartAway bool
	// Batch configures group commit for calls to Redis.
	Batch batch.Config
	// Wrap wraps the Redis store, inside all layers, to observe its calls. It can be nil.
	Wrap func(engine.Store) engine.Store
	// Clock replaces the store's clock in tests and replays. nil means the real clock.
	Clock func() time.Time
}

// Opened is an open store, with warnings for the operator.
type Opened struct {
	engine.Store

	// Memory is the memory store. It is nil if the store is on Redis.
	Memory *memstore.Store
	// Redis is the Redis store without its layers. It is nil if the store is in memory.
	Redis *redisstore.Store
	// Prefetch is the prefetch layer. It is nil if the store has no such layer.
	Prefetch *prefetch.Store
	// Fallback is the layer that answers while Redis is unavailable. It is nil if the store has no such layer.
	Fallback *fallback.Store
	// Away is the reason why Redis was unavailable when the store was opened: see [Options.StartAway]. It is nil if
	// Redis could decide. If it is set, Redis.Check returns the warnings once Redis is back.
	Away error
	// Warnings lists settings of the Redis server that put counters at risk.
	Warnings []string
}

// Unwrap returns the store, including its layers.
func (o Opened) Unwrap() engine.Store { return o.Store }

// Do implements [engine.Store]. A store that neither [URL] nor [Conn] opened answers with an error.
func (o Opened) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	o.orFailed().Do(ctx, ops, results)
}

// Close implements [engine.Store].
func (o Opened) Close() error { return o.orFailed().Close() }

func (o Opened) orFailed() engine.Store {
	if o.Store == nil {
		return failed{errNotOpened}
	}
	return o.Store
}

var errNotOpened = engine.InvalidInput("store", "not set", "the result of open.URL or open.Conn")

// The time limits for Redis to answer the first calls: by default, and with StartAway.
const (
	openTimeout     = 10 * time.Second
	openAwayTimeout = 2 * time.Second
)

// Redacted returns a store URL without its user and password, for logs.
func Redacted(address string) string {
	if address == "" {
		return Memory
	}
	return redisurl.Redacted(address)
}

// URL opens the store at a URL; "memory" and "" open a store in the memory of this process. Redis must answer within
// 10 s, unless it may be unavailable ([Options.StartAway]). The caller closes the store. If the URL or an option is
// invalid, the error is an [*engine.InputError]. Otherwise it is an error of the connection. After an error, every
// method of the store returns this error, as does every method of a limiter that uses the store.
func URL(ctx context.Context, address string, o Options) (Opened, error) {
	opened, err := open(ctx, address, &o)
	if err != nil {
		return Opened{Store: failed{err}}, err
	}
	return opened, nil
}

func open(ctx context.Context, address string, o *Options) (Opened, error) {
	if ctx == nil {
		return Opened{}, &engine.InputError{Field: "ctx", Value: "nil", Accepted: "a context, such as context.Background()"}
	}
	if address == "" || address == Memory {
		o.Memory.Clock = o.Clock
		store, err := o.memory()
		return Opened{Store: store, Memory: store}, err
	}
	if err := checkScheme(address); err != nil {
		return Opened{}, err
	}
	if o.Restore != nil {
		return Opened{}, &engine.InputError{Field: "restore", Value: "set", Accepted: "a snapshot only with the store " + Memory}
	}
	within, err := o.deadline(address)
	if err != nil {
		return Opened{}, err
	}
	address = redisurl.WithPasswordFile(address, o.PasswordFile)
	if o.SubPrefix != "" {
		address = extendPrefix(address, o.SubPrefix)
	}
	connect := func(ctx context.Context) (*redisstore.Store, error) {
		if o.StartAway {
			return rueidisadapter.OpenLate(ctx, address, redisstore.Config{Clock: o.Clock})
		}
		return rueidisadapter.Open(ctx, address, redisstore.Config{Clock: o.Clock})
	}
	opened, err := o.onRedis(ctx, connect, isCluster(address), within)
	if reason := cmp.Or(err, opened.Away); reason != nil {
		if mistake := tlsMistake(ctx, address, reason); mistake != nil {
			if err == nil {
				_ = opened.Close()
			}
			return Opened{}, mistake
		}
	}
	return opened, err
}

// onRedis opens a store on Redis with its layers. Calls end after the time within; 0 means no deadline.
func (o *Options) onRedis(ctx context.Context, connect func(context.Context) (*redisstore.Store, error), cluster bool, within time.Duration) (Opened, error) {
	opened, warnings, away, err := o.connect(ctx, connect)
	if err != nil {
		return Opened{}, err
	}
	store := engine.Store(opened)
	if o.Wrap != nil {
		store = o.Wrap(store)
	}
	layered, err := stack.New(store, opened, o.layers(cluster, within, opened))
	if err != nil {
		_ = opened.Close()
		return Opened{}, err
	}
	last, _ := layered.(*fallback.Store)
	if last != nil {
		layered = last.Unwrap()
		if away == nil {
			join(ctx, last)
		}
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

// checkScheme returns an error if the URL is not for a store on Redis. The error lists all accepted forms, including
// memory.
func checkScheme(address string) error {
	if redisurl.Known(address) {
		return nil
	}
	_, err := redisurl.Parse(address)
	if input, ok := errors.AsType[*engine.InputError](err); ok {
		input.Accepted = Memory + ", " + input.Accepted
	}
	return err
}

// join makes the process a member before its first decision, so that it knows about earlier data losses. If that fails,
// the background tries again.
func join(ctx context.Context, store *fallback.Store) {
	ctx, cancel := context.WithTimeout(ctx, membership.Interval)
	defer cancel()
	_ = store.Join(ctx)
}

// connect opens the Redis store and checks it. If it could not be checked because Redis is unavailable, away is the
// reason.
func (o *Options) connect(ctx context.Context, connect func(context.Context) (*redisstore.Store, error)) (store *redisstore.Store, warnings []string, away, err error) {
	within := openTimeout
	if o.StartAway {
		within = openAwayTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if store, err = connect(ctx); err != nil {
		return nil, nil, nil, err
	}
	warnings, err = store.Check(ctx)
	switch {
	case err == nil && o.StartAway:
		return store, warnings, store.Refused(), nil
	case err == nil:
		return store, warnings, nil, nil
	case o.StartAway && (engine.Away(err) || temporary(err)):
		return store, nil, err, nil
	default:
		return nil, nil, nil, errors.Join(err, store.Close())
	}
}

// temporary reports whether the server has refused a call for now.
func temporary(err error) bool {
	e, ok := errors.AsType[*redisstore.Error](err)
	return ok && e.Class.Temporary()
}

// memory opens the memory store.
func (o *Options) memory() (*memstore.Store, error) {
	if o.Restore != nil {
		return memstore.Restore(o.Memory, o.Restore)
	}
	return memstore.New(o.Memory)
}

// clusterMarkers is the number of markers on a Cluster. If there are three masters, the probability that each has at
// least one marker is 99.5 %.
const clusterMarkers = 16

// clusterLanes is the number of lanes into which a Cluster's slots are grouped. Each can be unavailable independently.
const clusterLanes = 64

// layers returns the settings of the layers around a store.
func (o *Options) layers(cluster bool, within time.Duration, store *redisstore.Store) stack.Config {
	c := stack.Config{Batch: o.Batch, Prefetch: o.Prefetch, Membership: o.Membership}
	if o.Fallback != nil {
		own := *o.Fallback
		own.Slow = cmp.Or(own.Slow, fallback.SlowOf(within))
		c.Fallback = &own
	}
	if cluster {
		c.Membership.Markers = cmp.Or(c.Membership.Markers, clusterMarkers)
		// Each master serves ranges of slots. A lane is a smaller range of slots.
		lane := func(op *engine.Op, charge int) int {
			return store.SlotOf(op, charge) / (redisstore.Slots / clusterLanes)
		}
		if c.Batch.Lane = lane; c.Fallback != nil {
			c.Fallback.Lanes, c.Fallback.Lane = clusterLanes, lane
		}
	}
	return c
}

func isCluster(address string) bool { return strings.Contains(address, "+cluster://") }

// extendPrefix appends /suffix to the key prefix in a URL.
func extendPrefix(address, suffix string) string {
	base, query, _ := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return address // opening the store reports the error
	}
	prefix := values.Get("prefix")
	if prefix == "" {
		prefix = redisstore.DefaultPrefix
	}
	values.Set("prefix", prefix+"/"+suffix)
	return base + "?" + values.Encode()
}
