package resp

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/headgate/headgate/server/resp/wire"
)

// flushAt is how many bytes of replies are collected before they are written
// although more commands are waiting. The output of a connection exceeds it by
// the replies to one command or to one run of decisions at most.
const flushAt = 64 << 10

// conn is one client's connection and what it has set. Its goroutine alone
// touches it, but for nc.
type conn struct {
	srv   *Server
	nc    net.Conn
	id    int64
	began time.Time

	in        *wire.Reader // of conn.Read
	readBy    time.Time    // the read deadline of nc; zero: none
	commandBy time.Time    // when the command that has begun must be complete; zero: none has
	out       []byte       // replies that are not written yet
	closing   bool         // no further command is answered
	writeErr  error        // the first one; nothing is written after it

	proto      wire.Proto
	name       string // CLIENT SETNAME
	libName    string // CLIENT SETINFO
	libVersion string

	undecided *undecided // decision commands that are not answered yet; nil: none
	tx        transaction
}

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{srv: s, nc: nc, id: s.lastID.Add(1), began: time.Now(), proto: wire.RESP2}
}

// serve answers commands until the client or the server ends the connection.
func (c *conn) serve(ctx context.Context) {
	defer c.nc.Close()
	c.in = wire.NewReader(c)
	for !c.closing {
		batch, err := c.in.ReadBatch()
		c.commandBy = time.Time{}
		if err != nil {
			c.end(err)
			break
		}
		c.answer(ctx, batch)
	}
	_ = c.flush() // its error is in c.writeErr
}

// Read reads from the client; wire.Reader calls it when it holds no complete
// command. All that was read is answered then, so this is where the replies
// are written: one write for a pipeline, and none is kept back while waiting.
func (c *conn) Read(p []byte) (int, error) {
	if err := c.flush(); err != nil {
		return 0, err
	}
	c.setReadDeadline()
	return c.nc.Read(p)
}

// flush writes the replies. After an error the connection is closing.
func (c *conn) flush() error {
	if len(c.out) > 0 && c.writeErr == nil {
		c.nc.SetWriteDeadline(time.Now().Add(c.srv.cfg.WriteTimeout))
		_, c.writeErr = c.nc.Write(c.out)
		c.closing = c.closing || c.writeErr != nil
	}
	c.out = c.out[:0]
	if cap(c.out) > 2*flushAt {
		c.out = nil // one long reply should not cost memory for ever
	}
	return c.writeErr
}

// setReadDeadline gives an idle client IdleTimeout, and a command that has
// begun ReadTimeout in all, however its bytes trickle in.
func (c *conn) setReadDeadline() {
	var by time.Time
	switch {
	case c.in.Buffered() > 0:
		if c.commandBy.IsZero() {
			c.commandBy = time.Now().Add(c.srv.cfg.ReadTimeout)
		}
		by = c.commandBy
	case c.srv.cfg.IdleTimeout > 0:
		by = time.Now().Add(c.srv.cfg.IdleTimeout)
	}
	if by != c.readBy {
		c.nc.SetReadDeadline(by)
		c.readBy = by
	}
	if by := c.srv.drainBy.Load(); by != nil { // see Server.drain for the order
		c.nc.SetReadDeadline(*by)
	}
}

// end deals with the error that ends the input.
func (c *conn) end(err error) {
	if protocol := (*wire.ProtocolError)(nil); errors.As(err, &protocol) {
		c.out = wire.AppendError(c.out, "ERR "+protocol.Error())
	}
	if err != io.EOF {
		c.srv.cfg.Logger.Debug("resp: connection ended", "client", c.nc.RemoteAddr(), "id", c.id, "error", err)
	}
}
