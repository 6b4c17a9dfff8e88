package load

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/respclient"
)

// respTarget sends commands to the RESP port of a server. Every caller has its own connection.
type respTarget struct{ address string }

func (t respTarget) open(_ context.Context, c *Config) (client, error) {
	words, err := throttle(c)
	if err != nil {
		return nil, err
	}
	conn, err := respclient.Open(t.address, respclient.Options{})
	if err != nil {
		return nil, err
	}
	return &respClient{conn: conn, words: words, key: slices.Index(words, "")}, nil
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
	same := engine.Bucket(c.Limit.Rate(0), engine.Setting{Field: "burst", Units: n.Burst})
	if *same.Numbers() != *n || rates[0].Period%time.Second != 0 {
		return nil, &engine.InputError{Field: "limit", Value: c.Limit.String(), Accepted: "on RESP a token bucket without debt, its period whole seconds; others by --policy"}
	}
	number := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []string{"CL.THROTTLE", "", number(n.Burst - 1), number(rates[0].Count), number(int64(rates[0].Period / time.Second))}, nil
}

type respClient struct {
	conn  *respclient.Client
	words []string
	key   int // the index of the key in words
}

func (a *respClient) take(ctx context.Context, key string) (bool, time.Time, error) {
	a.words[a.key] = key
	reply, err := a.conn.Do(ctx, a.words...)
	if err != nil {
		return false, time.Time{}, err
	}
	values, _, err := respclient.Integers(reply, 5)
	return err == nil && values[0] == 0, time.Time{}, err
}

func (a *respClient) close() { a.conn.Close() }
