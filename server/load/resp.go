package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/server/resp/wire"
)

// respTarget is the RESP port of a server. Every caller has its own connection.
type respTarget struct{ address string }

func (t respTarget) open(ctx context.Context, c *Config) (client, error) {
	words, err := throttle(c)
	if err != nil {
		return nil, err
	}
	a := &respClient{address: t.address, words: words}
	return a, a.dial(ctx)
}

func (t respTarget) storeTime() bool { return false }

func (t respTarget) Close() error { return nil }

// throttle returns the words of the command, with "" in place of the key. CL.THROTTLE supports only token buckets
// with a period of whole seconds.
func throttle(c *Config) ([]string, error) {
	if c.Policy != "" {
		return []string{"HEADGATE.ALLOW", c.Policy, ""}, nil
	}
	rates := c.Limit.Rates()
	n := c.Limit.Numbers()
	same := rule.TokenBucket(c.Limit.Rate(0), rule.Burst(n.Burst), rule.Named(c.Limit.Name()))
	if same != c.Limit || rates[0].Period%time.Second != 0 {
		return nil, &engine.InputError{Field: "limit", Value: c.Limit.String(), Accepted: "on RESP a token bucket without debt, its period whole seconds; others by --policy"}
	}
	number := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []string{"CL.THROTTLE", "", number(n.Burst - 1), number(rates[0].Count), number(int64(rates[0].Period / time.Second))}, nil
}

type respClient struct {
	address string
	words   []string
	conn    net.Conn
	replies *bufio.Reader
	command []byte
	request []string
}

func (a *respClient) dial(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", a.address)
	if err != nil {
		return err
	}
	a.conn, a.replies = conn, wire.NewReplyReader(conn)
	return nil
}

func (a *respClient) take(ctx context.Context, key string) (bool, time.Time, error) {
	if a.conn == nil {
		if err := a.dial(ctx); err != nil {
			return false, time.Time{}, err
		}
	}
	value, err := a.exchange(ctx, key)
	switch {
	case err != nil:
		a.close() // the next reply on this connection would belong to this request
		return false, time.Time{}, err
	case value.Kind == wire.Error:
		return false, time.Time{}, errors.New(value.Text)
	case len(value.Items) < 5:
		return false, time.Time{}, fmt.Errorf("the answer is no decision: it has %d values", len(value.Items))
	default:
		return value.Items[0].Int == 0, time.Time{}, nil
	}
}

func (a *respClient) exchange(ctx context.Context, key string) (wire.Value, error) {
	a.request = append(a.request[:0], a.words...)
	for i, word := range a.request {
		if word == "" {
			a.request[i] = key
		}
	}
	deadline, _ := ctx.Deadline()
	if err := a.conn.SetDeadline(deadline); err != nil {
		return wire.Value{}, err
	}
	a.command = wire.AppendCommand(a.command[:0], a.request...)
	if _, err := a.conn.Write(a.command); err != nil {
		return wire.Value{}, err
	}
	return wire.ReadValue(a.replies)
}

func (a *respClient) close() {
	if a.conn != nil {
		_ = a.conn.Close()
		a.conn = nil
	}
}
