package gateway

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits and timeouts of connections to clients and upstreams.
const (
	// maxHeaderBytes bounds the headers of a request and of an upstream's answer.
	maxHeaderBytes = 64 << 10
	// headerTimeout is how long a client has to send the header of a request.
	headerTimeout = 10 * time.Second
	// idleTimeout is how long a client's connection may be idle. Connections to upstreams have a shorter timeout, so
	// that the gateway closes them before most servers would.
	idleTimeout         = 2 * time.Minute
	upstreamIdleTimeout = 50 * time.Second
	// dialTimeout bounds each step of connecting to an upstream: the TCP connection, and then the TLS handshake. It
	// also bounds the wait for an answer to an HTTP/2 ping.
	dialTimeout = 5 * time.Second
	// maxIdlePerUpstream is the maximum number of idle connections kept per upstream.
	maxIdlePerUpstream = 512
	// maxStreams is the maximum number of concurrent requests on a client's HTTP/2 connection.
	maxStreams = 250
)

// Server returns the gateway's server. It speaks HTTP/1.1, and HTTP/2 with TLS or in clear text. Bodies have no bound
// on size or time, because they are forwarded as they arrive. A client that stops sending or reading, or sends a body
// too slowly, is disconnected.
func (g *Gateway) Server(logger *slog.Logger) *http.Server {
	s := &http.Server{
		Handler: g, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return g.base },
		Protocols:   new(http.Protocols), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: g.config.StallTimeout},
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// transports is the proxy's [http.RoundTripper]. It chooses a transport by the upstream's protocol.
type transports struct {
	// negotiated uses HTTP/1.1, or HTTP/2 over TLS if the upstream offers it. clear uses cleartext HTTP/2.
	negotiated, clear *http.Transport
}

func newTransports(c *Config) transports {
	t := transports{newTransport(c), newTransport(c)}
	t.clear.Protocols = new(http.Protocols)
	t.clear.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// RoundTrip implements [http.RoundTripper].
func (t transports) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(exchangeKey{}).(*exchange).upstream.ClearHTTP2 {
		return t.clear.RoundTrip(r)
	}
	return t.negotiated.RoundTrip(r)
}

func (t transports) closeIdle() {
	t.negotiated.CloseIdleConnections()
	t.clear.CloseIdleConnections()
}

// newTransport returns a transport that leaves requests and responses unchanged: it uses no compression, and no proxy
// from the environment.
func newTransport(c *Config) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &stallConn{conn, c.StallTimeout}, nil
		},
		TLSClientConfig:     &tls.Config{RootCAs: c.UpstreamCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: dialTimeout, DisableCompression: true, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: maxIdlePerUpstream, MaxConnsPerHost: maxInFlight, IdleConnTimeout: upstreamIdleTimeout,
		ResponseHeaderTimeout: c.UpstreamTimeout, ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: maxHeaderBytes,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: dialTimeout, WriteByteTimeout: c.StallTimeout},
	}
}
