package load

import (
	"context"
	"net/url"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore/redisurl"
)

// Target is what is asked.
type Target interface {
	// open returns what one caller asks by.
	open(ctx context.Context, c *Config) (asker, error)
	// storeTime reports whether decisions tell when they were made.
	storeTime() bool
	// Close ends it.
	Close() error
}

// asker takes one unit at a time.
type asker interface {
	take(ctx context.Context, key string) (allowed bool, at time.Time, err error)
	close()
}

// Open returns the target at an address: resp://host:port and http://host:port
// of a server, or a store's URL, which is asked from this process.
func Open(ctx context.Context, address string) (Target, error) {
	u, err := url.Parse(address)
	switch {
	case err == nil && u.Scheme == "resp" && u.Host != "":
		return respTarget{address: u.Host}, nil
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return newHTTP(u), nil
	case address != open.Memory && !redisurl.Known(address):
		return nil, &headgate.InputError{Field: "target", Value: address, Accepted: "resp://host:port, http://host:port, " + open.Accepted}
	}
	opened, err := open.Store(ctx, address, open.Options{})
	if err != nil {
		return nil, err
	}
	return storeTarget{store: opened, limiter: headgate.New(headgate.WithStore(opened), headgate.WithSpace("bench"))}, nil
}
