package resp

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/resp/wire"
)

// drainWindow is how long Shutdown continues to read commands that clients have already sent. It is long enough for
// bytes in the kernel and on a local network, and too short to delay a restart noticeably.
const drainWindow = 50 * time.Millisecond

// Server serves RESP on any number of listeners. It is safe for concurrent use.
type Server struct {
	cfg      Config
	commands table

	names     []string                     // of the commands, sorted
	described [wire.RESP3 + 1]descriptions // by protocol version
	info      string                       // the reply to INFO

	// baseCtx is the context for Decide. It ends if Shutdown times out.
	baseCtx context.Context
	abort   context.CancelFunc

	rejecting chan struct{} // holds a value for each client that is being rejected

	stopping chan struct{}             // closed when Shutdown begins
	drainBy  atomic.Pointer[time.Time] // set by Shutdown: when connections stop reading

	mu        sync.Mutex // guards the maps, and makes running.Add happen before running.Wait
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	places    *peers.Conns
	queues    *peers.Shares  // of the bytes that transactions queue
	running   sync.WaitGroup // Serve calls and connections

	lastID    atomic.Int64  // the highest connection id
	httpLines lograte.Limit // limits log lines about HTTP requests, which a web page can make a browser send
}

// New returns a Server. The returned error lists all invalid fields of cfg.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	commands := newTable(cfg.Decisions)
	names := slices.Sorted(maps.Keys(commands))
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{
		cfg:       cfg,
		httpLines: lograte.Limit{Lines: 1, Per: time.Second},
		commands:  commands,
		names:     names,
		described: [...]descriptions{wire.RESP2: commands.describe(names, wire.RESP2), wire.RESP3: commands.describe(names, wire.RESP3)},
		info:      infoText(cfg.Version),
		baseCtx:   ctx,
		abort:     cancel,
		rejecting: make(chan struct{}, maxRejecting),
		stopping:  make(chan struct{}),
		listeners: make(map[net.Listener]struct{}),
		conns:     make(map[*conn]struct{}),
		places:    peers.NewConns(cfg.MaxConns, cfg.Peers),
		queues:    peers.NewShares(maxQueueBlocks, cfg.Peers),
	}, nil
}

// Shutdown stops accepting connections, answers the commands that clients have already sent, closes every connection,
// and returns nil when all of the server's goroutines have ended. If ctx ends first, Shutdown cancels the context of
// decisions in flight, closes the connections immediately, waits for the goroutines and returns ctx's error. Further
// calls wait too.
func (s *Server) Shutdown(ctx context.Context) error {
	s.drain()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		s.abort()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		s.abort()
		s.closeConns()
		<-done
		return ctx.Err()
	}
}

// drain closes the listeners and sets the read deadline of each connection to drainBy.
func (s *Server) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopping() {
		return
	}
	close(s.stopping)
	by := time.Now().Add(drainWindow)
	s.drainBy.Store(&by)
	for l := range s.listeners {
		l.Close()
	}
	// Each connection sets its own deadline before it checks drainBy, so this deadline is always the last one set.
	for c := range s.conns {
		c.nc.SetReadDeadline(by)
	}
}

// isStopping reports whether Shutdown has been called.
func (s *Server) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

func (s *Server) closeConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.nc.Close()
	}
}
