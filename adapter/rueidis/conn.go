package rueidisadapter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/headgate/headgate/redisstore"
)

// conn is a [redisstore.Conn] on a rueidis client. rueidis pipelines what many
// goroutines ask, and never sends a script again whose answer was lost: only
// commands that are marked as read-only are, and none of ours is.
type conn struct {
	client  rueidis.Client
	cluster bool
	calls   atomic.Int32 // under way
}

// ownCalls is how many calls at once have a connection of their own, each written
// and read by who calls. Others share pipelined connections, where two goroutines
// more are on the way of every answer: 60 µs for one caller, 40 without them.
// Group commit has so many calls under way.
const ownCalls = 2

// New returns a connection on a client that the program already has, for
// [redisstore.New], which closes the client with the store. Say whether it is a
// client of a Cluster.
func New(client rueidis.Client, cluster bool) redisstore.Conn {
	return &conn{client: client, cluster: cluster}
}

// Do sends the commands. See [redisstore.Conn].
func (c *conn) Do(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply) {
	piped := c.calls.Add(1) > ownCalls || c.cluster || cancels(ctx)
	defer c.calls.Add(-1)
	if len(commands) == 1 {
		replies[0] = reply(c.client.Do(ctx, c.build(&commands[0], piped)))
		return
	}
	built := make([]rueidis.Completed, len(commands))
	for i := range commands {
		built[i] = c.build(&commands[i], piped)
	}
	for i, result := range c.client.DoMulti(ctx, built...) {
		replies[i] = reply(result)
	}
}

// cancels reports whether a context can end at any time: who reads by himself
// only hears of deadlines.
func cancels(ctx context.Context) bool {
	_, ok := ctx.Deadline()
	return !ok && ctx.Done() != nil
}

func (c *conn) build(command *redisstore.Command, piped bool) rueidis.Completed {
	built := c.arbitrary(command)
	if piped {
		return built.ToPipe()
	}
	return built
}

func (c *conn) arbitrary(command *redisstore.Command) rueidis.Completed {
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

// reply translates an answer.
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

// translate tells an answer of the server, which has not run the command, from
// a connection that failed, which may have.
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

// Subscribe hears a channel. See [redisstore.Conn].
func (c *conn) Subscribe(ctx context.Context, channel string, ready func(), heard func(string)) error {
	dedicated, release := c.client.Dedicate()
	defer release()
	ended := dedicated.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { heard(m.Message) },
		OnSubscription: func(s rueidis.PubSubSubscription) {
			if s.Kind == "subscribe" {
				ready()
			}
		},
	})
	if err := dedicated.Do(ctx, c.client.B().Subscribe().Channel(channel).Build()).Error(); err != nil {
		return translate(err)
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Cluster reports whether keys are spread over slots.
func (c *conn) Cluster() bool { return c.cluster }

// Close ends the connections.
func (c *conn) Close() error {
	c.client.Close()
	return nil
}
