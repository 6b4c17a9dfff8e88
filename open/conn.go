package open

import (
	"context"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/redisstore"
)

// Conn opens the store on a connection of the program's own Redis client, with the same layers and the same errors as
// [URL]. headgate/adapter/goredis and headgate/adapter/rueidis make the connection:
//
//	conn, err := goredisadapter.New(client)
//	store, err := open.Conn(ctx, conn, open.Options{})
//
// The caller closes the store, and then the client. The prefix of the keys is "hg", or hg/SubPrefix. A
// deadline of 0 means 50 ms. The options PasswordFile, Memory and Restore must not be set.
func Conn(ctx context.Context, conn redisstore.Conn, o Options) (Opened, error) {
	opened, err := onConn(ctx, conn, &o)
	if err != nil {
		return Opened{Store: failed{err}}, err
	}
	return opened, nil
}

func onConn(ctx context.Context, conn redisstore.Conn, o *Options) (Opened, error) {
	refuse := func(field, value, accepted string) (Opened, error) {
		return Opened{}, &engine.InputError{Field: field, Value: value, Accepted: accepted}
	}
	switch {
	case ctx == nil:
		return refuse("ctx", "nil", "a context, such as context.Background()")
	case conn == nil:
		return refuse("conn", "nil", "a connection of adapter/goredis or adapter/rueidis")
	case o.PasswordFile != "":
		return refuse("password_file", "set", "a client that has its password")
	case o.Restore != nil || o.Memory.MaxKeys != 0 || o.Memory.MaxKeysOf != nil:
		return refuse("memory", "set", "the options of a store on Redis")
	}
	within, err := o.deadline("")
	if err != nil {
		return Opened{}, err
	}
	c := redisstore.Config{Clock: o.Clock}
	if o.SubPrefix != "" {
		c.Prefix = redisstore.DefaultPrefix + "/" + o.SubPrefix
	}
	return o.onRedis(ctx, func(ctx context.Context) (*redisstore.Store, error) {
		store, err := redisstore.New(conn, c)
		if err != nil || o.StartAway {
			return store, err
		}
		if err := store.EnsureFormat(ctx); err != nil {
			_ = store.Close()
			return nil, err
		}
		return store, nil
	}, conn.Cluster(), within)
}
