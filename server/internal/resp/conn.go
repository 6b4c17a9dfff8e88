package resp

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// flushAt is the number of buffered bytes above which replies are written although more commands are waiting. The
// buffer exceeds flushAt by at most the replies to one command or to one call of Decide.
const flushAt = 64 << 10

// conn is a client's connection with its settings. It is used only by its own goroutine, except for nc.
type conn struct {
	srv   *Server
	nc    net.Conn
	place *peers.Conn // nil before the connection is admitted
	id    int64
	began time.Time

	in        *wire.Reader // reads through conn.Read
	readBy    time.Time    // the read deadline of nc; zero if none exists
	commandBy time.Time    // deadline of the unfinished command; zero if none exists
	out       []byte       // buffered replies
	closing   bool         // the connection ends after the current command
	known     bool         // the handshake is done, and the client has authenticated if that is required
	writeErr  error        // the first write error; nothing is written after it

	proto wire.Proto
	name  string // set by CLIENT SETNAME

	// user is the authenticated user. It is nil for a client that has sent no secret, and on servers without users.
	user *users.User
	// wrong is the number of wrong secrets since the last right one.
	wrong int

	pending *pendingDecisions // decision commands without a reply; nil if none exist
	tx      transaction
}

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{srv: s, nc: nc, id: s.lastID.Add(1), began: time.Now(), proto: wire.RESP2}
}

// serve answers commands until the client or the server ends the connection.
func (c *conn) serve(ctx context.Context) {
	defer c.nc.Close()
	defer c.tx.end()
	c.in = wire.NewReader(c)
	if err := c.shakeHands(ctx); err != nil {
		c.end(err)
		return
	}
	for !c.closing {
		c.in.SetAnonymous(c.anonymous())
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

// anonymous reports whether the client must still authenticate.
func (c *conn) anonymous() bool {
	f := c.srv.cfg.Users
	return f != nil && f.Current(c.user) == nil
}

// shakeHands completes the TLS handshake before the first command.
func (c *conn) shakeHands(ctx context.Context) (err error) {
	if secure, ok := c.nc.(interface {
		HandshakeContext(ctx context.Context) error
	}); ok {
		c.setReadDeadline()
		c.nc.SetWriteDeadline(c.began.Add(c.srv.cfg.ReadTimeout))
		err = secure.HandshakeContext(ctx)
	}
	c.known = c.srv.cfg.Users == nil
	return err
}

// Read reads from the client. wire.Reader calls it when it has no complete command. At that time all commands have been
// answered, so Read first writes the replies. Therefore a pipeline is answered in one write, and no reply waits for
// input.
func (c *conn) Read(p []byte) (int, error) {
	if err := c.flush(); err != nil {
		return 0, err
	}
	c.setReadDeadline()
	c.place.Idle()
	defer c.place.Busy()
	return c.nc.Read(p)
}

// flush writes the buffered replies. After an error, closing is set.
func (c *conn) flush() error {
	if len(c.out) > 0 && c.writeErr == nil {
		c.nc.SetWriteDeadline(time.Now().Add(c.srv.cfg.WriteTimeout))
		_, c.writeErr = c.nc.Write(c.out)
		c.closing = c.closing || c.writeErr != nil
	}
	c.out = c.out[:0]
	if cap(c.out) > 2*flushAt {
		c.out = nil // so that one long reply does not occupy memory forever
	}
	return c.writeErr
}

// setReadDeadline sets IdleTimeout for an idle client. A command that has begun may take ReadTimeout in total,
// regardless of the number of reads. A new client has the same time for its TLS handshake and its secret, so that
// clients that send neither do not keep others out. If no secret is required, IdleTimeout applies as soon as the
// handshake is done, because a pool may open connections long before it uses them.
func (c *conn) setReadDeadline() {
	var by time.Time
	switch {
	case !c.known:
		by = c.began.Add(c.srv.cfg.ReadTimeout)
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
	if by := c.srv.drainBy.Load(); by != nil { // after the deadline above: see Server.drain
		c.nc.SetReadDeadline(*by)
	}
}

// end logs the error that ended the input. For a protocol error it also replies, and gives a client that is still
// sending the time to read the reply.
func (c *conn) end(err error) {
	if protocol := (*wire.ProtocolError)(nil); errors.As(err, &protocol) {
		c.out = wire.AppendError(c.out, "ERR "+protocol.Error())
		c.srv.cfg.Refused(service.Malformed)
		if c.flush() == nil {
			_ = c.place.CloseWrite()
		}
	}
	if err != io.EOF {
		c.srv.cfg.Logger.Debug("resp: connection ended", "client", c.nc.RemoteAddr(), "id", c.id, "error", err)
	}
}
