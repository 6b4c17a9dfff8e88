package gateway

import (
	"net"
	"sync"
	"time"

	"github.com/headgate/headgate/server/internal/peers"
)

// Listen returns a listener whose connections fail a write that takes longer than the stall timeout.
func (g *Gateway) Listen(l net.Listener) net.Listener {
	return &stallListener{l, g.config.StallTimeout}
}

type stallListener struct {
	net.Listener

	stall time.Duration
}

// Accept implements [net.Listener].
func (l *stallListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &stallConn{c, l.stall}, nil
}

// stallConn bounds the duration of each write. A write is at most 32 KiB long, the size of the buffers.
type stallConn struct {
	net.Conn

	stall time.Duration
}

// Write implements [net.Conn].
func (c *stallConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// bufferBytes is the size of the copy buffers for bodies.
const bufferBytes = 32 << 10

// buffers is a [httputil.BufferPool].
type buffers struct{ pool sync.Pool }

// Get implements [httputil.BufferPool].
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferBytes]byte); ok {
		return p[:]
	}
	return make([]byte, bufferBytes)
}

// Put implements [httputil.BufferPool].
func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferBytes]byte)(p)) }

// CloseWrite ends the gateway's side of the connection: see [peers.Conn.CloseWrite].
func (c *stallConn) CloseWrite() error { return peers.CloseWrite(c.Conn) }
