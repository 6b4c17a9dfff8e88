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
	ofListeners("headgate_connections", "Open connections.", nil, func(c *listenerCounts, add func(*atomic.Int64, ...string)) {
		add(&c.open)
	}),
	ofListeners("headgate_connections_accepted_total", "Accepted connections.", nil, func(c *listenerCounts, add func(*atomic.Int64, ...string)) {
		add(&c.accepted)
	}),
	ofListeners("headgate_bytes_total", "Bytes that were read from clients, and written to them.", []string{"direction"}, func(c *listenerCounts, add func(*atomic.Int64, ...string)) {
		add(&c.read, "read")
		add(&c.written, "written")
	}),
)

// ofListeners returns a metric with counts of each front end that has a listener, and with further labels.
func ofListeners(name, help string, labels []string, counts func(c *listenerCounts, add func(count *atomic.Int64, labels ...string))) metric.Row[*Metrics] {
	return metric.Row[*Metrics]{Name: name, Help: help, Labels: append([]string{"frontend"}, labels...), Series: func(m *Metrics, add func(float64, ...string)) {
		for f := range service.FrontEnds {
			if m.Serving(f) {
				counts(&m.listeners[f], func(count *atomic.Int64, labels ...string) {
					add(float64(count.Load()), append([]string{f.String()}, labels...)...)
				})
			}
		}
	}}
}
