// Package gateway is a reverse proxy whose requests are decided by the routes of the
// policies file: what passes goes to the upstream of its route.
//
//	gateway.go   the handler, its configuration and its end
//	exchange.go  a request from its route to the upstream
//	share.go     how many requests there are at once, in all and of one client
//	queue.go     requests that a pacer delays
//	headers.go   headers that no route sees and no upstream gets
//	overload.go  how many requests an upstream has at the same time
//	path.go      paths that would leave the path of an upstream
//	forward.go   what the upstream gets
//	answer.go    what the client gets: the upstream's answer, or a problem
//	grpc.go      refusals in the words of gRPC
//	server.go    the server of HTTP, and the transport to the upstreams
//	body.go      bodies of slow clients
//	conn.go      connections that take no bytes
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

	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/httpapi"
	"github.com/headgate/headgate/server/lograte"
	"github.com/headgate/headgate/server/peers"
	"github.com/headgate/headgate/server/requestid"
	"github.com/headgate/headgate/server/service"
)

// DefaultUpstream is the name of the upstream of requests whose route names none. No
// upstream of a file has parentheses in its name.
const DefaultUpstream = "(default)"

// maxInFlight is how many requests are in the gateway at once, those that wait included.
// More are answered 503.
const maxInFlight = 10_000

// Config configures a Gateway.
type Config struct {
	// Service has the routes, and decides.
	Service *service.Service
	// Upstream gets the requests whose route names no upstream, and, unless DenyUnmatched
	// is set, those without a route; nil is none.
	Upstream *route.Upstream
	// DenyUnmatched answers requests without a route with 404. By default they pass, and
	// nothing limits them.
	DenyUnmatched bool
	// UpstreamTimeout is the longest time from the end of a request until the header of the
	// upstream's answer; 0 is no bound.
	UpstreamTimeout time.Duration
	// UpstreamCAs may sign the certificates of upstreams; nil stands for those of the system.
	UpstreamCAs *x509.CertPool
	// StallTimeout is how long a client, or an upstream, may take no bytes that are written
	// to it, and a client send no byte of the body that it has announced.
	StallTimeout time.Duration
	// LeastBody is how many bytes of its body a client must send in any 10 s in which the
	// gateway waits for it; 0 is no bound. Calls of gRPC have none.
	LeastBody int64
	// Peers is the share that one client address has of the requests in the gateway, and of
	// those that wait. Requests beyond it are answered 503. The zero value: all.
	Peers peers.Rule
	// MaxWaiting is how many requests wait at once for the slots that pacers have given
	// them. More are answered 503.
	MaxWaiting int
	// ReadyPath is a path that the gateway answers itself, with its readiness; "" is none.
	ReadyPath string
	// Logger gets the failures of upstreams.
	Logger *slog.Logger
}

// Gateway is a handler that passes requests on. It is safe for concurrent use.
type Gateway struct {
	config     Config
	proxy      *httputil.ReverseProxy
	transports transports
	ready      http.HandlerFunc

	// base is the context of all requests; end ends it.
	base     context.Context //nolint:containedctx // the requests' contexts are made of it
	end      context.CancelFunc
	requests sync.WaitGroup

	inFlight, waiting *peers.Shares
	bodyWindow        time.Duration
	unreadWait        time.Duration
	upstreams         sync.Map // *upstream by name
	stats             counters
	failures          lograte.Limit // an upstream that is away fails each request
}

// New returns a gateway. Close ends it.
func New(c Config) *Gateway {
	g := &Gateway{
		config: c, failures: lograte.Limit{Lines: 1, Per: time.Second}, transports: newTransports(&c), ready: httpapi.Ready(c.Service), bodyWindow: bodyWindow, unreadWait: unreadWait,
		inFlight: peers.NewShares(maxInFlight, c.Peers), waiting: peers.NewShares(c.MaxWaiting, c.Peers),
	}
	g.base, g.end = context.WithCancel(context.Background())
	g.proxy = &httputil.ReverseProxy{
		Transport: g.transports, Rewrite: g.rewrite, ModifyResponse: g.answered, ErrorHandler: g.failed,
		BufferPool: new(buffers), ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
	return g
}

// closeTimeout is how long Close waits for requests to end. A client that takes no bytes can
// hold one up for longer.
const closeTimeout = 5 * time.Second

// Close ends all requests, those whose connections have become websockets too, and waits
// for them. The server accepts no more.
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

// ServeHTTP decides a request, waits for its slot if it has one, and passes it on.
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
	peer, proxies := httplimit.Peer(r), g.config.Service.Proxies()
	dropHopByHop(r.Header)
	dropForged(r.Header, proxies.Trusts(peer))
	e := &exchange{
		Context: requestid.With(r.Context(), r.Header.Get(requestid.Header)), body: body, grpc: isGRPC(r),
		client: proxies.Client(peer, r.Header),
	}
	place, ok := g.enter(w, e)
	if !ok {
		return
	}
	defer place.Free()
	if r.Method == http.MethodConnect {
		e.write(w, httplimit.NewProblem(http.StatusMethodNotAllowed, "", "CONNECT is not passed on; accepted: any other method"))
		return
	}
	defer func() {
		if e.permit != nil {
			e.release(e.outcome)
		}
	}()
	if g.admit(w, r, e) {
		g.forward(w, r, e)
	}
}
