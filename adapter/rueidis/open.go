// Package rueidisadapter opens a [redisstore.Store] by URL, with rueidis as its
// client.
//
//	redis://user:password@host:6379/0        one server (TLS: rediss://)
//	redis+sentinel://h1:26379,h2,h3/mymaster  a primary that Sentinel watches
//	redis+cluster://h1:7000,h2:7001          a Cluster; the nodes found tell the others
//	unix:///run/redis.sock?db=1              a socket
//
// After "?": prefix begins the keys ("headgate"), max_in_flight bounds the calls
// under way, shards is how many hash tags the keys share on a Cluster,
// password_file and sentinel_password_file name files with a password,
// sentinel_username is the Sentinels' user, and ca_file, cert_file, key_file and
// server_name are for TLS. Sentinels are asked with TLS if the servers are.
package rueidisadapter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/redisstore/redisurl"
)

const (
	// dialTimeout bounds a connection attempt.
	dialTimeout = 2 * time.Second
	// silence is how long a connection may owe an answer before it is given
	// up, and how often an idle one is pinged.
	silence = 5 * time.Second
	// bufferBytes is for each direction of a connection. The default of 512
	// KiB is for values; ours are small.
	bufferBytes = 64 << 10
)

// Open returns a store at a URL. What the URL does not say, c does: its prefix
// and bounds, and its clock, which no URL can set. The server must answer.
func Open(ctx context.Context, url string, c redisstore.Config) (*redisstore.Store, error) {
	a, err := redisurl.Parse(url)
	if err != nil {
		return nil, err
	}
	if err := a.ReadPassword(); err != nil {
		return nil, err
	}
	if prefix := a.Options.Get("prefix"); prefix != "" {
		c.Prefix = prefix
	}
	if bound := a.Options.Get("max_in_flight"); bound != "" {
		if c.MaxInFlight, err = strconv.Atoi(bound); err != nil || c.MaxInFlight == 0 {
			return nil, &engine.InputError{Field: "max_in_flight", Value: strconv.Quote(bound), Accepted: "1 to 65536"}
		}
	}
	if shards := a.Options.Get("shards"); shards != "" {
		if c.Shards, err = strconv.Atoi(shards); err != nil || c.Shards == 0 {
			return nil, &engine.InputError{Field: "shards", Value: strconv.Quote(shards), Accepted: "1 to 1024"}
		}
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	option, err := clientOption(&a)
	if err != nil {
		return nil, err
	}
	client, err := connect(ctx, option)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redisurl.Redacted(url), err)
	}
	store, err := redisstore.New(New(client, a.Kind == redisurl.Cluster), c)
	if err != nil {
		client.Close()
		return nil, err
	}
	if err := store.EnsureFormat(ctx); err != nil {
		_ = store.Close()
		return nil, err
	}
	return store, nil
}

// connect keeps ctx's deadline, which rueidis.NewClient does not know.
func connect(ctx context.Context, option rueidis.ClientOption) (rueidis.Client, error) {
	type made struct {
		client rueidis.Client
		err    error
	}
	done := make(chan made, 1)
	go func() {
		client, err := rueidis.NewClient(option)
		done <- made{client, err}
	}()
	select {
	case m := <-done:
		return m.client, m.err
	case <-ctx.Done():
		go func() { // dialTimeout ends it
			if m := <-done; m.err == nil {
				m.client.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

func clientOption(a *redisurl.Address) (rueidis.ClientOption, error) {
	config, err := a.TLSConfig()
	if err != nil {
		return rueidis.ClientOption{}, err
	}
	option := rueidis.ClientOption{
		InitAddress: a.Hosts, TLSConfig: config, Username: a.Username, Password: a.Password, SelectDB: a.DB,
		Dialer: net.Dialer{Timeout: dialTimeout}, ConnWriteTimeout: silence,
		ReadBufferEachConn: bufferBytes, WriteBufferEachConn: bufferBytes,
		// Each call says whether it is pipelined: see ownCalls.
		DisableCache: true, DisableAutoPipelining: true,
		// A name says enough: CLIENT SETINFO would need one more permission, that
		// servers before 7.2 do not know.
		ClientSetInfo: rueidis.DisableClientSetInfo, ClientName: "headgate",
		ForceSingleClient: a.Kind == redisurl.Server || a.Kind == redisurl.Unix,
	}
	switch a.Kind {
	case redisurl.Sentinel:
		option.Sentinel = rueidis.SentinelOption{
			MasterSet: a.Master, TLSConfig: config, Dialer: option.Dialer, ClientName: option.ClientName,
			Username: a.Options.Get("sentinel_username"),
		}
		if name := a.Options.Get("sentinel_password_file"); name != "" {
			if option.Sentinel.Password, err = redisurl.Secret(name); err != nil {
				return option, errors.Join(errors.New("sentinel"), err)
			}
		}
	case redisurl.Unix:
		option.DialCtxFn = dialUnix
	}
	return option, nil
}

func dialUnix(ctx context.Context, path string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return dialer.DialContext(ctx, "unix", path)
}
