package load

import (
	"context"
	"net/url"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore/redisurl"
)

// Target receives the requests of a run.
type Target interface {
	// open returns the client of one caller.
	open(ctx context.Context, c *Config) (client, error)
	// storeTime reports whether decisions include the store's time.
	storeTime() bool
	// Close closes the target.
	Close() error
}

// client takes units from a target, one per request.
type client interface {
	take(ctx context.Context, key string) (allowed bool, at time.Time, err error)
	close()
}

// Open returns the target at an address: resp://host:port, http://host:port or https://host:port for a server, or the
// URL of a store that this process uses directly.
func Open(ctx context.Context, address string) (Target, error) {
	u, err := url.Parse(address)
	switch {
	case err == nil && u.Scheme == "resp" && u.Host != "":
		return respTarget{address: u.Host}, nil
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return newHTTP(u), nil
	case address != open.Memory && !redisurl.Known(address):
		return nil, &engine.InputError{Field: "target", Value: address, Accepted: "resp://host:port, http://host:port, " + open.Accepted}
	}
	opened, err := open.URL(ctx, address, open.Options{Deadline: -1}) // no deadline, because a slow answer is a measurement
	if err != nil {
		return nil, err
	}
	return storeTarget{store: opened, limiter: core.New(core.Config{Store: opened, Space: "bench"})}, nil
}
