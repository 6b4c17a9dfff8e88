package open

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/redisstore/redisurl"
)

// probeTimeout bounds the probe of a server that could not be used.
const probeTimeout = 500 * time.Millisecond

// tlsMistake returns an error if the URL asks for TLS and the server does not speak it, or the other way round. Such a
// server answers nothing that a client understands, so the mistake would look like an outage. It is called after the
// server could not be used for the given reason.
func tlsMistake(ctx context.Context, address string, reason error) error {
	a, err := redisurl.Parse(address)
	if err != nil || a.Kind == redisurl.Unix {
		return nil //nolint:nilerr // opening has reported it
	}
	if e, ok := errors.AsType[*redisstore.Error](reason); ok && e.Class != redisstore.Unsent && e.Class != redisstore.OutcomeUnknown {
		return nil // the server has answered
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", a.Hosts[0])
	if err != nil {
		return nil //nolint:nilerr // the server is away
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
	}
	var accepted string
	switch {
	case a.TLS && answersPing(c):
		accepted = "redis://: this server answers without TLS"
	case !a.TLS && tls.Client(c, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) == nil: //nolint:gosec // nothing is sent
		accepted = "rediss://: this server speaks TLS"
	default:
		return nil
	}
	return engine.InvalidInput("store", strconv.Quote(redisurl.Redacted(address)), accepted)
}

// answersPing reports whether a server answers a command of Redis in clear text. A missing password is an answer too.
func answersPing(c net.Conn) bool {
	first := make([]byte, 1)
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	n, err := c.Read(first)
	return err == nil && n == 1 && (first[0] == '+' || first[0] == '-')
}
