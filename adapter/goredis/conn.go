// Package goredisadapter connects a [redisstore.Store] to Redis through the program's own go-redis client.
//
//	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
//	conn, err := goredisadapter.New(client)
//	store, err := redisstore.New(conn, redisstore.Config{})
//
// By default, go-redis resends a command if its reply is lost. A script that had already run would then run, and
// charge, a second time. This adapter marks its commands so that go-redis never resends them, even if MaxRetries and
// MaxRedirects permit it.
//
// New returns an error unless ContextTimeoutEnabled is set. If it is not set, a hanging server blocks callers for
// ReadTimeout, by default three seconds, regardless of their deadlines.
//
// On a Cluster, also set ClusterStateReloadInterval: time.Second, DialerRetries: 1 and DialTimeout: 100 *
// time.Millisecond. After a primary died, a client with the default settings took 12 s to find the new primary; with
// these settings it took 3 s.
package goredisadapter

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/redisstore"
)

// conn is a [redisstore.Conn] that uses a go-redis client.
type conn struct {
	client  redis.UniversalClient
	cluster bool
	guard   *redisstore.Guard
}

// New returns a connection for [redisstore.New] that uses a client for one server, for Sentinels or for a Cluster. The
// caller closes the client after the store. If a required setting is missing, the error is an [*engine.InputError] that
// names it. A Ring is rejected: it moves keys to other servers when a server is down, so their limits would start again
// there.
func New(client redis.UniversalClient) (redisstore.Conn, error) {
	if engine.IsNil(client) {
		return nil, engine.InvalidInput("client", "nil", "*redis.Client or *redis.ClusterClient")
	}
	switch c := client.(type) {
	case *redis.Client:
		return newConn(client, false, c.Options().ContextTimeoutEnabled)
	case *redis.ClusterClient:
		return newConn(client, true, c.Options().ContextTimeoutEnabled)
	default:
		return nil, engine.InvalidInput("client", fmt.Sprintf("%T", client), "*redis.Client or *redis.ClusterClient")
	}
}

func newConn(client redis.UniversalClient, cluster, contextTimeouts bool) (redisstore.Conn, error) {
	if !contextTimeouts {
		return nil, engine.InvalidInput("ContextTimeoutEnabled", "false", "true, so that deadlines are kept when a server hangs")
	}
	c := &conn{client: client, cluster: cluster}
	c.guard = redisstore.NewGuard(cluster, c.exchange)
	return c, nil
}

// command is a command that is sent at most once.
type command struct{ *redis.Cmd }

// NoRetry makes go-redis send the command at most once.
func (command) NoRetry() bool { return true }

// Do sends the commands. See [redisstore.Conn].
func (c *conn) Do(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply) {
	c.guard.Do(ctx, commands, replies)
}

// exchange sends the commands and sets the replies.
func (c *conn) exchange(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply) {
	sent := make([]command, len(commands))
	for i := range commands {
		sent[i] = build(ctx, &commands[i])
	}
	if len(sent) == 1 {
		_ = c.client.Process(ctx, sent[0])
	} else {
		pipe := c.client.Pipeline()
		for _, s := range sent {
			_ = pipe.Process(ctx, s)
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
	}
	for i, s := range sent {
		replies[i] = reply(s.Cmd)
	}
}

// build returns a go-redis command. On a Cluster, go-redis needs the position of a key; if it had no step between keys
// either, it would load the table of commands from any server, for up to 5 s and regardless of the context.
func build(ctx context.Context, from *redisstore.Command) command {
	args, key := make([]any, len(from.Args)), 0
	for i, arg := range from.Args {
		args[i] = arg
		if key == 0 && i > 0 && from.Key != "" && arg == from.Key {
			key = i
		}
	}
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetStepCount(1)
	if key > 0 {
		cmd.SetFirstKeyPos(int8(key))
	}
	return command{cmd}
}

func reply(cmd *redis.Cmd) redisstore.Reply {
	value, err := cmd.Result()
	if errors.Is(err, redis.Nil) {
		return redisstore.Reply{}
	}
	if err != nil {
		return redisstore.Reply{Err: translate(err)}
	}
	return translateValue(value)
}

func translateValue(value any) redisstore.Reply {
	switch v := value.(type) {
	case string:
		return redisstore.Reply{Text: v}
	case int64:
		return redisstore.Reply{Int: v}
	case []any:
		r := redisstore.Reply{List: make([]redisstore.Reply, len(v))}
		for i := range v {
			r.List[i] = translateValue(v[i])
		}
		return r
	case map[any]any:
		var r redisstore.Reply
		for name, item := range v {
			r.List = append(r.List, translateValue(name), translateValue(item))
		}
		return r
	case error:
		return redisstore.Reply{Err: translate(v)}
	default:
		return redisstore.Reply{}
	}
}

// translate converts errors to the errors specified by [redisstore.Conn]. An error reply means that the command did not
// run, and becomes a ServerError. The error for a command that was not sent becomes ErrNotSent. After any other error,
// the command may have run.
func translate(err error) error {
	if server, ok := errors.AsType[redis.Error](err); ok {
		return &redisstore.ServerError{Text: server.Error()}
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) {
		return fmt.Errorf("%w: %w", redisstore.ErrNotSent, err)
	}
	return err
}

// Renew makes the server close the idle connections, so that go-redis dials again. A Cluster client finds new primaries
// itself.
func (c *conn) Renew(ctx context.Context) {
	if c.cluster {
		return
	}
	for n := c.client.PoolStats().IdleConns; n > 0 && ctx.Err() == nil; n-- {
		_ = c.client.Process(ctx, command{redis.NewCmd(ctx, "quit")}) // on the connection that was used last, among those still open
	}
}

// Cluster reports whether the client is a Cluster client.
func (c *conn) Cluster() bool { return c.cluster }

// Close does nothing, because the caller owns the client.
func (c *conn) Close() error { return nil }
