package metrics

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/server/internal/metric"
	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/service"
)

// listenerCounts counts the connections of a front end.
type listenerCounts struct {
	accepted, open atomic.Int64
	read, written  atomic.Int64
	_              [32]byte // keeps the front ends on different cache lines
	serving        atomic.Bool
}

// Listen returns a listener that counts connections and bytes. It returns nil if l is nil.
func (m *Metrics) Listen(from service.FrontEnd, l net.Listener) net.Listener {
	if l == nil {
		return nil
	}
	m.listeners[from].serving.Store(true)
	return &listener{l, &m.listeners[from]}
}

// Serving reports whether a front end has a listener.
func (m *Metrics) Serving(from service.FrontEnd) bool { return m.listeners[from].serving.Load() }

type listener struct {
	net.Listener

	counts *listenerCounts
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.counts.accepted.Add(1)
	l.counts.open.Add(1)
	return &conn{Conn: c, counts: l.counts}, nil
}

// conn counts a connection's bytes.
type conn struct {
	net.Conn

	counts *listenerCounts
	closed sync.Once
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.counts.read.Add(int64(n))
	return n, err
}

// Write implements [net.Conn].
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.counts.written.Add(int64(n))
	return n, err
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.closed.Do(func() { c.counts.open.Add(-1) })
	return c.Conn.Close()
}

// CloseWrite ends the server's side of the connection: see [peers.Conn.CloseWrite].
func (c *conn) CloseWrite() error { return peers.CloseWrite(c.Conn) }

// listens are the metrics of the listeners.
var listens = metric.NewTable(
	metric.Row[*Metrics]{
		Name: "headgate_connections", Labels: []string{"frontend"},
		Help: "Open connections.",
		Series: func(m *Metrics, add func(float64, ...string)) {
			for f := range service.FrontEnds {
				if c := &m.listeners[f]; m.Serving(f) {
					add(float64(c.open.Load()), f.String())
				}
			}
		},
	},
	metric.Row[*Metrics]{
		Name: "headgate_connections_accepted_total", Labels: []string{"frontend"},
		Help: "Accepted connections.",
		Series: func(m *Metrics, add func(float64, ...string)) {
			for f := range service.FrontEnds {
				if c := &m.listeners[f]; m.Serving(f) {
					add(float64(c.accepted.Load()), f.String())
				}
			}
		},
	},
	metric.Row[*Metrics]{
		Name: "headgate_bytes_total", Labels: []string{"frontend", "direction"},
		Help: "Bytes that were read from clients, and written to them.",
		Series: func(m *Metrics, add func(float64, ...string)) {
			for f := range service.FrontEnds {
				if c := &m.listeners[f]; m.Serving(f) {
					add(float64(c.read.Load()), f.String(), "read")
					add(float64(c.written.Load()), f.String(), "written")
				}
			}
		},
	},
)
