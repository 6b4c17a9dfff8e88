package peers

import (
	"errors"
	"net"
	"time"
)

// The bounds of a connection that ends before its client has sent everything.
const (
	lingerFor   = 5 * time.Second // in all
	lingerPause = time.Second     // until the client's next bytes
)

// CloseWrite ends the server's side of the connection, and then reads what the client still sends, for a short time. The
// HTTP server calls it after an answer to a request whose body it did not read, such as a 413, and then closes the
// connection. If bytes were left, the system would reset the connection, and the client would often not see the answer.
func (c *Conn) CloseWrite() error {
	c.answering.Store(false)
	err := CloseWrite(c.Conn)
	if err == nil {
		linger(c.Conn)
	}
	return err
}

// lingers reports whether Close must do what CloseWrite does, because the HTTP server closes the connection in the
// middle of a request and could not call CloseWrite: under TLS, or after a header that it cannot read. A server that
// stops closes its connections one after the other, and cannot wait for each.
func (c *Conn) lingers() bool { return c.answering.Load() && !c.of.stopped.Load() }

// CloseWrite calls the method CloseWrite of a connection. Types that wrap a connection pass the call on with it.
func CloseWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func linger(c net.Conn) {
	end := time.Now().Add(lingerFor)
	for buffer := make([]byte, 32<<10); ; {
		next := time.Now().Add(lingerPause)
		if next.After(end) {
			next = end
		}
		if c.SetReadDeadline(next) != nil {
			return
		}
		if _, err := c.Read(buffer); err != nil {
			return
		}
	}
}
