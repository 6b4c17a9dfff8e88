package rueidisadapter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/redisstore"
)

// conn is a [redisstore.Conn] that uses a rueidis client, which pipelines the commands of many goroutines. If a reply
// is lost, rueidis resends only commands that it marks as read-only. It does not mark any of the store's commands.
type conn struct {
	client  rueidis.Client
	cluster bool
	calls   atomic.Int32      // in flight
	shared  *redisstore.Guard // of the pipelined connections
}

// dedicatedCalls is the number of calls in flight that use their own connections. The calling goroutine writes to
// and reads from such a connection itself. Further calls share pipelined connections, where each reply passes
// through two more goroutines, and a single caller would wait for 60 µs instead of 40 µs. dedicatedCalls equals the
// number of calls that group commit keeps in flight.
const dedicatedCalls = 3

// New returns a connection for [redisstore.New] that uses the program's client. cluster must be true for a Cluster
// client. The caller closes the client after the store. If the client is nil, the error is an [*engine.InputError].
func New(client rueidis.Client, cluster bool) (redisstore.Conn, error) {
	if client == nil {
		return nil, engine.InvalidInput("client", "nil", "a client that rueidis.NewClient returned")
	}
	return newConn(client, cluster), nil
}

func newConn(client rueidis.Client, cluster bool) *conn {
	c := &conn{client: client, cluster: cluster}
	c.shared = redisstore.NewGuard(cluster, func(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply) {
		c.exchange(ctx, commands, replies, true)
	})
	return c
}

// Do sends the commands. See [redisstore.Conn].
func (c *conn) Do(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply) {
	defer c.calls.Add(-1)
	if c.calls.Add(1) > dedicatedCalls || c.cluster || cancellable(ctx) {
		c.shared.DoApart(ctx, commands, replies)
		return
	}
	c.exchange(ctx, commands, replies, false)
}

// exchange sends the commands and sets the replies.
func (c *conn) exchange(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply, pipelined bool) {
	if len(commands) == 1 {
		replies[0] = reply(c.client.Do(ctx, c.build(&commands[0], pipelined)))
		return
	}
	built := make([]rueidis.Completed, len(commands))
	for i := range commands {
		built[i] = c.build(&commands[i], pipelined)
	}
	for i, result := range c.client.DoMulti(ctx, built...) {
		replies[i] = reply(result)
	}
}

// cancellable reports whether a context can end other than by a deadline. A goroutine that reads its own connection can
// be stopped only by a deadline.
func cancellable(ctx context.Context) bool {
	_, ok := ctx.Deadline()
	return !ok && ctx.Done() != nil
}

// build returns a rueidis command, for a pipelined connection or for a dedicated one.
func (c *conn) build(command *redisstore.Command, pipelined bool) rueidis.Completed {
	built := c.complete(command)
	if pipelined {
		return built.ToPipe()
	}
	return built
}

// complete returns the command with its arguments. rueidis computes the slot from the argument marked as a key.
func (c *conn) complete(command *redisstore.Command) rueidis.Completed {
	b := c.client.B().Arbitrary(command.Args[0])
	rest := command.Args[1:]
	if command.Key != "" {
		for i, arg := range rest {
			if arg == command.Key {
				return b.Args(rest[:i]...).Keys(arg).Args(rest[i+1:]...).Build()
			}
		}
	}
	return b.Args(rest...).Build()
}

// reply converts a reply for the store.
func reply(result rueidis.RedisResult) redisstore.Reply {
	message, err := result.ToMessage()
	if err != nil {
		return redisstore.Reply{Err: translate(err)}
	}
	return translateMessage(&message)
}

func translateMessage(m *rueidis.RedisMessage) redisstore.Reply {
	var r redisstore.Reply
	switch {
	case m.IsNil():
	case m.IsInt64():
		r.Int, r.Err = m.AsInt64()
	case m.IsArray(), m.IsMap():
		list, err := m.ToArray()
		if err != nil {
			list = nil
			for name, value := range mapOf(m) {
				text := redisstore.Reply{Text: name}
				r.List = append(r.List, text, translateMessage(&value))
			}
		}
		for i := range list {
			r.List = append(r.List, translateMessage(&list[i]))
		}
	default:
		text, err := m.ToString()
		r.Text = text
		if err != nil {
			r.Err = translate(err)
		}
	}
	return r
}

func mapOf(m *rueidis.RedisMessage) map[string]rueidis.RedisMessage {
	found, err := m.ToMap()
	if err != nil {
		return nil
	}
	return found
}

// translate converts errors to the errors specified by [redisstore.Conn]. An error reply means that the command did not
// run, and becomes a ServerError. The error for a command that was not sent becomes ErrNotSent. After any other error,
// the command may have run.
func translate(err error) error {
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if server, ok := rueidis.IsRedisErr(err); ok {
		return &redisstore.ServerError{Text: server.Error()}
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" || errors.Is(err, rueidis.ErrNoSlot) {
		return fmt.Errorf("%w: %w", redisstore.ErrNotSent, err)
	}
	return err
}

// Cluster reports whether the client is a Cluster client.
func (c *conn) Cluster() bool { return c.cluster }

// Renew makes the server close the connections of the program's client, so that rueidis dials again. It asks by QUIT: in
// a pool, the ping afterwards discards the closed connection and goes on with the next.
func (c *conn) Renew(ctx context.Context) {
	if c.cluster {
		return // the client follows redirections to new primaries
	}
	for range dedicatedCalls {
		_ = c.client.Do(ctx, c.client.B().Arbitrary("QUIT").Build())
		_ = c.client.Do(ctx, c.client.B().Ping().Build())
	}
	_ = c.client.Do(ctx, c.client.B().Arbitrary("QUIT").Build().ToPipe())
}

// Close does nothing, because the caller owns the client.
func (c *conn) Close() error { return nil }
