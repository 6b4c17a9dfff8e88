package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/server/resp/wire"
)

// respTarget is a server's RESP. Every caller has a connection of his own.
type respTarget struct{ address string }

func (t respTarget) open(ctx context.Context, c *Config) (asker, error) {
	words, err := throttle(c)
	if err != nil {
		return nil, err
	}
	a := &respAsker{address: t.address, words: words}
	return a, a.dial(ctx)
}

func (t respTarget) storeTime() bool { return false }

func (t respTarget) Close() error { return nil }

// throttle returns the command, with an empty word where the key goes. Limits
// that come with the request are CL.THROTTLE's: buckets of whole seconds.
func throttle(c *Config) ([]string, error) {
	if c.Policy != "" {
		return []string{"HEADGATE.TAKE", c.Policy, ""}, nil
	}
	rates := c.Limit.Rates()
	n := c.Limit.Numbers()
	if n.Algorithm != algo.TokenBucket || n.Queue > 0 || rates[0].Period%time.Second != 0 {
		return nil, &headgate.InputError{Field: "limit", Value: c.Limit.String(), Accepted: "on RESP a token bucket without debt, its period whole seconds; others by --policy"}
	}
	number := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []string{"CL.THROTTLE", "", number(n.Burst - 1), number(rates[0].Count), number(int64(rates[0].Period / time.Second))}, nil
}

type respAsker struct {
	address string
	words   []string
	conn    net.Conn
	replies *bufio.Reader
	command []byte
	asked   []string
}

func (a *respAsker) dial(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", a.address)
	if err != nil {
		return err
	}
	a.conn, a.replies = conn, wire.NewReplyReader(conn)
	return nil
}

func (a *respAsker) take(ctx context.Context, key string) (bool, time.Time, error) {
	if a.conn == nil {
		if err := a.dial(ctx); err != nil {
			return false, time.Time{}, err
		}
	}
	value, err := a.exchange(ctx, key)
	switch {
	case err != nil:
		a.close() // what comes next on it would be another's answer
		return false, time.Time{}, err
	case value.Kind == wire.Error:
		return false, time.Time{}, errors.New(value.Text)
	case len(value.Items) < 5:
		return false, time.Time{}, fmt.Errorf("an answer of %d values, which is no decision", len(value.Items))
	default:
		return value.Items[0].Int == 0, time.Time{}, nil
	}
}

func (a *respAsker) exchange(ctx context.Context, key string) (wire.Value, error) {
	a.asked = append(a.asked[:0], a.words...)
	for i, word := range a.asked {
		if word == "" {
			a.asked[i] = key
		}
	}
	deadline, _ := ctx.Deadline()
	if err := a.conn.SetDeadline(deadline); err != nil {
		return wire.Value{}, err
	}
	a.command = wire.AppendCommand(a.command[:0], a.asked...)
	if _, err := a.conn.Write(a.command); err != nil {
		return wire.Value{}, err
	}
	return wire.ReadValue(a.replies)
}

func (a *respAsker) close() {
	if a.conn != nil {
		_ = a.conn.Close()
		a.conn = nil
	}
}
