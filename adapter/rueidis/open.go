// Package rueidisadapter connects a [redisstore.Store] to Redis with rueidis. [Open] opens a store by URL. [New] uses
// the program's own client.
//
//	redis://user:password@host:6379/0        one server (TLS: rediss://)
//	redis+sentinel://h1:26379,h2,h3/mymaster  the primary that Sentinels watch
//	redis+cluster://h1:7000,h2:7001          a Cluster; one node is enough to find the others
//	unix:///run/redis.sock?db=1              a socket
//
// A URL can contain parameters after "?". prefix is the prefix of the keys (by default hg). max_in_flight bounds
// the calls in flight. shards is the number of hash tags shared by the keys on a Cluster. password_file and
// sentinel_password_file are the names of files that contain a password. sentinel_username is the user name for the
// Sentinels. ca_file, cert_file, key_file and server_name configure TLS. Connections to Sentinels use TLS if
// connections to servers do. deadline is for package open and the server. This package leaves deadlines to its callers.
package rueidisadapter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/redisstore/redisurl"
)

const (
	// dialTimeout bounds each attempt to connect.
	dialTimeout = 2 * time.Second
	// connTimeout is how long a connection waits for a reply before it is closed. It is also the interval between pings
	// on idle connections.
	connTimeout = 5 * time.Second
	// refreshPrimary is the interval for asking Sentinels for the primary. They also announce a new primary, but a
	// client that misses the announcement keeps the old primary, which accepts writes for 8 s after it comes back.
	refreshPrimary = time.Second
	// redirections is how often a call is sent to another node of a Cluster, as by go-redis. Without a bound, nodes that
	// name each other would be asked until the caller's deadline, 20 000 times a second.
	redirections = 3
	// bufferBytes is the size of each connection's two buffers. The default of 512 KiB is meant for large values, but
	// the store's values are small.
	bufferBytes = 64 << 10
)

// Open opens the store at a URL and checks its format: see [redisstore.Store.EnsureFormat]. Settings that are not in
// the URL, such as a clock, come from c. If the URL is invalid, the error is an [*engine.InputError]. Any other error
// means that the server cannot be reached, or that this store cannot use it.
func Open(ctx context.Context, url string, c redisstore.Config) (*redisstore.Store, error) {
	store, err := open(ctx, url, c, false)
	if err != nil {
		return nil, err
	}
	if err := store.EnsureFormat(ctx); err != nil {
		_ = store.Close()
		return nil, err
	}
	return store, nil
}

// OpenLate is [Open] for programs that must be able to start while the server is unavailable. It does not check the
// format; [redisstore.Store.Check] does. If the server does not answer before ctx ends, cannot be reached, or refuses the
// connection for now ([redisstore.Class.Temporary]), the store is returned without a connection and reconnects in the
// background. Until it has a connection, calls fail. Any other answer, such as for a wrong password, is an error as in
// Open.
func OpenLate(ctx context.Context, url string, c redisstore.Config) (*redisstore.Store, error) {
	return open(ctx, url, c, true)
}

// open opens a store. If late is set, the server may be unavailable.
func open(ctx context.Context, url string, c redisstore.Config, late bool) (*redisstore.Store, error) {
	a, err := redisurl.Parse(url)
	if err != nil {
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
	made, err := dial(ctx, &a, late)
	if _, away := errors.AsType[*net.OpError](err); away {
		return nil, fmt.Errorf("%w: %s: %w", engine.ErrStoreUnavailable, redisurl.Redacted(url), err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redisurl.Redacted(url), err)
	}
	store, err := redisstore.New(made, c)
	if err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return store, nil
}

// dial connects to the server. If the server is unavailable and mayBeAway is set, dial returns a connection that
// connects later. Every attempt reads the files that the URL names.
func dial(ctx context.Context, a *redisurl.Address, mayBeAway bool) (redisstore.Conn, error) {
	again := func(ctx context.Context) (rueidis.Client, error) {
		own := *a
		if err := own.ReadPassword(); err != nil {
			return nil, err
		}
		option, err := clientOption(&own)
		if err != nil {
			return nil, err
		}
		return connect(ctx, option)
	}
	client, err := again(ctx)
	if err != nil && !(mayBeAway && away(err)) {
		return nil, err
	}
	return newOwnConn(again, a.Kind == redisurl.Cluster, client, err), nil
}

// connect creates a client, but gives up when ctx ends. rueidis.NewClient itself takes no context.
func connect(ctx context.Context, option rueidis.ClientOption) (rueidis.Client, error) {
	type result struct {
		client rueidis.Client
		err    error
	}
	done := make(chan result, 1)
	go func() {
		client, err := rueidis.NewClient(option)
		done <- result{client, err}
	}()
	select {
	case r := <-done:
		return r.client, r.err
	case <-ctx.Done():
		go func() { // ends after dialTimeout at the latest
			if r := <-done; r.err == nil {
				r.client.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// clientOption returns the client's options for an address.
func clientOption(a *redisurl.Address) (rueidis.ClientOption, error) {
	config, err := a.TLSConfig()
	if err != nil {
		return rueidis.ClientOption{}, err
	}
	option := rueidis.ClientOption{
		InitAddress: a.Hosts, TLSConfig: config, Username: a.Username, Password: a.Password, SelectDB: a.DB,
		Dialer: net.Dialer{Timeout: dialTimeout}, ConnWriteTimeout: connTimeout,
		ReadBufferEachConn: bufferBytes, WriteBufferEachConn: bufferBytes,
		// Each call chooses whether to be pipelined: see dedicatedCalls.
		DisableCache: true, DisableAutoPipelining: true,
		// CLIENT SETINFO needs a separate permission, which does not exist before Redis 7.2. The name is enough to
		// identify the client.
		ClientSetInfo: rueidis.DisableClientSetInfo, ClientName: "headgate",
		ForceSingleClient: a.Kind == redisurl.Server || a.Kind == redisurl.Unix,
	}
	if a.Kind != redisurl.Sentinel { // rueidis would give these to the Sentinels too
		option.AuthCredentialsFn = credentials(a)
	}
	switch a.Kind {
	case redisurl.Cluster:
		option.ClusterOption.MaxMovedRedirections = redirections
	case redisurl.Sentinel:
		option.Sentinel = rueidis.SentinelOption{
			MasterSet: a.Master, TLSConfig: config, Dialer: option.Dialer, ClientName: option.ClientName,
			Username: a.Options.Get("sentinel_username"), TopologyRefreshInterval: refreshPrimary,
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

// credentials returns a function that reads the password again for each new connection, so that it can change while
// programs run. If the file cannot be read, or is empty because it is being written, the last password is used.
func credentials(a *redisurl.Address) func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
	own := *a
	var mu sync.Mutex
	return func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		mu.Lock()
		defer mu.Unlock()
		if now := *a; now.ReadPassword() == nil && now.Password != "" {
			own.Password = now.Password
		}
		return rueidis.AuthCredentials{Username: own.Username, Password: own.Password}, nil
	}
}

func dialUnix(ctx context.Context, path string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return dialer.DialContext(ctx, "unix", path)
}
