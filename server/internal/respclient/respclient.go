// Package respclient calls a server's RESP port, for commands and the load generator.
package respclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/redis/rueidis"
)

// bufferBytes is the size of a connection's buffers. Commands and replies are short.
const bufferBytes = 4 << 10

// Options holds the settings of a connection. The zero value is a plain connection without a user.
type Options struct {
	User, Secret string
	TLS          *tls.Config   // nil for a plain connection
	Timeout      time.Duration // for connecting; 0 means 5 s
}

// Client is a connection to a server. If the connection breaks, the next command opens it again. Commands are never
// sent twice, because the first may have been charged. A Client must not be used concurrently.
type Client struct{ conn rueidis.Client }

// Open connects to the server at host:port.
func Open(address string, o Options) (*Client, error) {
	conn, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{address}, ForceSingleClient: true,
		Username: o.User, Password: o.Secret, TLSConfig: o.TLS, Dialer: net.Dialer{Timeout: o.Timeout},
		AlwaysRESP2: true, DisableCache: true, DisableRetry: true, ClientSetInfo: rueidis.DisableClientSetInfo,
		ReadBufferEachConn: bufferBytes, WriteBufferEachConn: bufferBytes, PipelineMultiplex: -1,
	})
	if err != nil {
		return nil, err
	}
	return &Client{conn}, nil
}

// Do sends a command and returns the reply. The error for an error reply is a *[rueidis.RedisError].
func (c *Client) Do(ctx context.Context, words ...string) (rueidis.RedisMessage, error) {
	return c.conn.Do(ctx, c.conn.B().Arbitrary(words...).Build()).ToMessage()
}

// Integers returns the first size items of an array reply as integers, and the other items unchanged. It returns an
// error if the reply is not such an array.
func Integers(reply rueidis.RedisMessage, size int) (first []int64, rest []rueidis.RedisMessage, err error) {
	items, err := reply.ToArray()
	if err != nil {
		return nil, nil, err
	}
	if len(items) < size {
		return nil, nil, fmt.Errorf("the server answered %d values instead of %d", len(items), size)
	}
	first = make([]int64, size)
	for i := range first {
		if first[i], err = items[i].AsInt64(); err != nil {
			return nil, nil, err
		}
	}
	return first, items[size:], nil
}

// Close closes the connection.
func (c *Client) Close() { c.conn.Close() }
