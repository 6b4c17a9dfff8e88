// Package gateway implements a reverse proxy that decides requests with the routes of the policies file, and forwards
// allowed requests to their route's upstream.
//
//	gateway.go   the handler, its configuration and shutdown
//	exchange.go  a request from its route to the upstream
//	share.go     bounds on concurrent requests, in total and per client
//	queue.go     requests that a pacer delays, and what a request gives back
//	valid.go     requests that no upstream can get
//	headers.go   headers that no route or upstream may see
//	overload.go  bounds on concurrent requests to an upstream
//	forward.go   the request to the upstream
//	answer.go    the answer to the client: the upstream's, or a problem
//	grpc.go      refusals as gRPC statuses; connect.go as errors of Connect; frames.go: the messages of a call
//	server.go    the HTTP server, and the transport to the upstreams
//	body.go      bodies from slow clients; ahead.go reads the beginning of one while its request waits
//	trailers.go  the headers after a body
//	conn.go      connections that accept no bytes
//	stats.go     counters
package gateway

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
)

// DefaultUpstream is the name of the upstream for requests whose route names none. Upstream names in a file cannot
// contain parentheses.
const DefaultUpstream = "(default)"

// maxInFlight is the maximum number of requests in the gateway, including waiting ones. Further requests get a 503.
const maxInFlight = 10_000

// Config configures a Gateway.
type Config struct {
	// Service holds the routes and decides the requests.
	Service *service.Service
	// Upstream receives the requests whose route has no upstream and, unless DenyUnmatched is set, those without a
	// route. It can be nil.
	Upstream *route.Upstream
	// DenyUnmatched answers requests without a route with 404. By default such requests pass without a limit.
	DenyUnmatched bool
	// UpstreamTimeout is the maximum time from the end of a request to the header of the upstream's response; 0 means
	// no bound.
	UpstreamTimeout time.Duration
	// UpstreamCAs contains the CAs for upstreams' certificates. If it is nil, the system's CAs are used.
	UpstreamCAs *x509.CertPool
	// StallTimeout is the longest time without progress. A client or upstream that accepts no bytes for this long, or a
	// client that sends none of its announced body, is disconnected.
	StallTimeout time.Duration
	// BodyRate is the number of body bytes that a client must send in each 10 s that the gateway waits for the body;
	// 0 means no bound. In a gRPC call over HTTP/2 it applies within a message, but not between messages.
	BodyRate int64
	// Peers limits the share of the requests in the gateway, and of the waiting requests, that a single client address
	// can have. Requests beyond the share get a 503. The zero value sets no limit.
	Peers peers.Rule
	// MaxWaiting is the maximum number of requests that may wait for their slots from pacers. Further requests get a
	// 503.
	MaxWaiting int
	// Origins are the origins whose pages can read the gateway's own answers.
	Origins service.Origins
	// ReadyPath is the path for probes of the gateway's own readiness. If it is "", there is no such path.
	ReadyPath string
	// Logger logs the failures of upstreams.
	Logger *slog.Logger
}

// Gateway is a handler that decides and forwards requests. It is safe for concurrent use.
type Gateway struct {
	config     Config
	proxy      *httputil.ReverseProxy
	transports transports
	ready      http.HandlerFunc

	// base is the parent context of all requests; end cancels it.
	base     context.Context //nolint:containedctx // the requests' contexts are derived from it
	end      context.CancelFunc
	requests sync.WaitGroup

	inFlight, waiting *peers.Shares
	bodyWindow        time.Duration
	unreadWait        time.Duration
	upstreams         sync.Map // *upstream by name
	stats             counters
	failures          lograte.Limit // while an upstream is unavailable, every request to it fails
	releases          lograte.Limit // while the store is unavailable, every release fails
	moves             lograte.Limit // changes to upstreams' limits on requests in flight
}

// New returns a gateway. The caller must close it.
func New(c Config) *Gateway {
	g := &Gateway{
		config: c, failures: lograte.Limit{Lines: 1, Per: time.Second}, releases: lograte.Limit{Lines: 1, Per: time.Second}, moves: lograte.Limit{Lines: 1, Per: time.Second}, transports: newTransports(&c), ready: httpapi.Ready(c.Service), bodyWindow: bodyWindow, unreadWait: unreadWait,
		inFlight: peers.NewShares(maxInFlight, c.Peers), waiting: peers.NewShares(c.MaxWaiting, c.Peers),
	}
	g.base, g.end = context.WithCancel(context.Background())
	g.proxy = &httputil.ReverseProxy{
		Transport: g.transports, Rewrite: g.rewrite, ModifyResponse: g.answered, ErrorHandler: g.failed,
		BufferPool: new(buffers), ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
	return g
}

// closeTimeout is how long Close waits for requests to end. A client that accepts no bytes can delay the end of its
// request for longer.
const closeTimeout = 5 * time.Second

// Close ends all requests, including websockets, and waits for them. The server must no longer accept requests.
func (g *Gateway) Close() {
	g.end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.requests.Wait()
	}()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
	g.transports.closeIdle()
}

// ServeHTTP decides a request, waits for its slot if it has one, and forwards it.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.requests.Add(1)
	defer g.requests.Done()
	body := g.body(w, r)
	defer body.end()
	if r.URL.Path == g.config.ReadyPath && g.config.ReadyPath != "" {
		body.leave()
		g.ready(w, r)
		return
	}
	peer, proxies := wire.Peer(r), g.config.Service.Proxies()
	refusal := g.invalid(r)
	dropHopByHop(r.Header)
	dropForged(r.Header, proxies.Trusts(peer))
	e := &exchange{
		Context: requestid.With(r.Context(), r.Header.Get(requestid.Header)), body: body, grpc: isGRPC(r), connect: isConnect(r), kind: r.Header.Get("Content-Type"),
		client: proxies.Client(peer, r.Header), origin: g.config.Origins.Of(r.Header),
	}
	place, ok := g.enter(w, e)
	if !ok {
		return
	}
	defer place.Free()
	if r.Method == http.MethodConnect {
		g.refused(service.Malformed)
		e.refuse(w, wire.NewProblem(http.StatusMethodNotAllowed, "", "CONNECT is not passed on; accepted: any other method"))
		return
	}
	if refusal != nil {
		why := service.Malformed
		if refusal.Status == http.StatusRequestHeaderFieldsTooLarge {
			why = service.TooLarge
		}
		g.refused(why)
		e.refuse(w, *refusal)
		return
	}
	defer func() {
		if e.permit != nil {
			e.release(e.outcome)
		}
		if held := e.responses[0].Permits; held != nil {
			g.giveUp(e, held)
		}
	}()
	if g.admit(w, r, e) {
		g.forward(w, r, e)
	}
}
