package resp

import (
	"errors"
	"net"
	"time"

	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/resp/wire"
)

const (
	// After a failed accept, usually because file descriptors are used up, the server waits for minBackoff. Each
	// further failure doubles the wait, up to maxBackoff.
	minBackoff = 5 * time.Millisecond
	maxBackoff = time.Second

	// rejectTimeout bounds the time for sending an error to a client beyond MaxConns, including its TLS handshake.
	// maxRejecting is the maximum number of clients that are sent this error concurrently. The connections of further
	// clients are closed without an error.
	rejectTimeout = time.Second
	maxRejecting  = 64
)

// Serve accepts connections from l and serves them until Shutdown, when it returns nil. It returns an error if the
// caller closes l. It logs other accept errors and retries. Serve closes l.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	if !s.addListener(l) {
		return nil
	}
	defer s.removeListener(l)
	backoff := minBackoff
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			backoff = minBackoff
			s.start(nc)
		case s.isStopping():
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			s.cfg.Logger.Warn("resp: accept failed", "error", err, "retry_in_ms", backoff.Milliseconds())
			s.pause(backoff)
			backoff = min(2*backoff, maxBackoff)
		}
	}
}

// pause waits for d, or until Shutdown.
func (s *Server) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.stopping:
	}
}

// addListener registers l. It returns false if the server is stopping.
func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopping() {
		return false
	}
	s.listeners[l] = struct{}{}
	s.running.Add(1)
	return true
}

func (s *Server) removeListener(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
	s.running.Done()
}

// start serves nc in a new goroutine, or closes it.
func (s *Server) start(nc net.Conn) {
	c := newConn(s, nc)
	switch s.addConn(c) {
	case admitted:
		go func() {
			defer s.removeConn(c)
			c.serve(s.baseCtx)
		}()
	case tooMany:
		s.reject(nc)
	case stopping:
		nc.Close()
	}
}

// reject sends an error and closes the connection. It does not wait for the client, which may not finish its TLS
// handshake.
func (s *Server) reject(nc net.Conn) {
	select {
	case s.rejecting <- struct{}{}:
	default:
		nc.Close()
		return
	}
	s.running.Go(func() { // Serve is running, so Shutdown waits for this goroutine too
		defer func() { <-s.rejecting }()
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(rejectTimeout))
		_, _ = nc.Write(wire.AppendError(nil, "ERR max number of clients reached"))
	})
}

// admission is the result of addConn.
type admission int

const (
	admitted admission = iota
	tooMany
	stopping
)

// addConn registers a connection if the server has room for it.
func (s *Server) addConn(c *conn) admission {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopping() {
		return stopping
	}
	place, verdict := s.places.Admit(c.nc)
	if verdict != peers.Granted {
		return tooMany
	}
	c.place = place
	s.conns[c] = struct{}{}
	s.running.Add(1)
	return admitted
}

func (s *Server) removeConn(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	c.place.Release()
	s.running.Done()
}
