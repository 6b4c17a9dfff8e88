package resp

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// drainWindow is how long Shutdown goes on reading what clients have sent
// already: long enough for bytes in the kernel and on a local network, short
// enough that nobody waits for it.
const drainWindow = 50 * time.Millisecond

// Server serves RESP on any number of listeners. Its methods may be called at
// the same time.
type Server struct {
	cfg      Config
	commands table
	began    time.Time

	// baseCtx is what Decide gets; it ends when Shutdown gives up waiting.
	baseCtx context.Context
	abort   context.CancelFunc

	stopping chan struct{}             // closed when Shutdown begins
	drainBy  atomic.Pointer[time.Time] // then: when connections stop reading

	mu        sync.Mutex // guards the maps, and running against Add after Wait
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	running   sync.WaitGroup // Serve calls and connections

	lastID   atomic.Int64 // of a connection
	accepted atomic.Int64
	rejected atomic.Int64 // beyond MaxConns
	answered atomic.Int64 // commands
}

// New returns a Server. The error lists everything that is wrong with cfg.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	commands, err := newTable(cfg.Decisions)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{
		cfg:       cfg,
		commands:  commands,
		began:     time.Now(),
		baseCtx:   ctx,
		abort:     cancel,
		stopping:  make(chan struct{}),
		listeners: make(map[net.Listener]struct{}),
		conns:     make(map[*conn]struct{}),
	}, nil
}

// Shutdown stops accepting, answers what clients have sent already, closes
// every connection, and returns nil when all goroutines of the server have
// ended. If ctx ends first, it ends the context of running decisions, closes
// the connections as they are, waits for the goroutines and returns ctx's
// error. It may be called again: each call waits.
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

// drain closes the listeners and gives each connection until drainBy.
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
	// A connection sets its own deadline and then looks at drainBy, so
	// whichever of the two is set last is this one.
	for c := range s.conns {
		c.nc.SetReadDeadline(by)
	}
}

// isStopping reports whether Shutdown was called.
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
