package rueidisadapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/headgate/headgate/redisstore"
)

// lateConn is a connection to a server that was unavailable when its store was opened. It reconnects in the background.
// Until it succeeds, calls fail.
type lateConn struct {
	connect func(context.Context) (rueidis.Client, error)
	cluster bool
	conn    atomic.Pointer[conn]  // nil until the server has answered
	failure atomic.Pointer[error] // from the last attempt
	stop    context.CancelFunc
	attempt sync.WaitGroup
}

// firstPause and lastPause bound the pause between attempts, which grows with each attempt. The pause is partly random,
// so that many processes do not reconnect at the same moment.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

// attemptTimeout bounds one attempt.
const attemptTimeout = 2 * dialTimeout

// newLateConn starts connecting in the background. err is the error from the first attempt.
func newLateConn(connect func(context.Context) (rueidis.Client, error), cluster bool, err error) *lateConn {
	ctx, stop := context.WithCancel(context.Background())
	l := &lateConn{connect: connect, cluster: cluster, stop: stop}
	l.fail(err)
	l.attempt.Go(func() { l.run(ctx) })
	return l
}

func (l *lateConn) run(ctx context.Context) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		timer := time.NewTimer(pause/2 + rand.N(pause/2)) //nolint:gosec // no secret: it spreads attempts
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		client, err := l.try(ctx)
		if err == nil {
			l.conn.Store(&conn{client: client, cluster: l.cluster, made: true})
			return
		}
		l.fail(err)
	}
}

func (l *lateConn) try(ctx context.Context) (rueidis.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return l.connect(ctx)
}

// fail records why there is no connection. It keeps an error reply from the server, such as for a wrong password,
// unchanged.
func (l *lateConn) fail(err error) {
	err = translate(err)
	if _, answered := errors.AsType[*redisstore.ServerError](err); !answered && !errors.Is(err, redisstore.ErrNotSent) {
		err = fmt.Errorf("%w: %w", redisstore.ErrNotSent, err)
	}
	l.failure.Store(&err)
}

// silence lists errors that mean that a connection got no answer. Network errors mean the same and are not listed.
var silence = []error{io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded, rueidis.ErrNoSlot, rueidis.ErrNoAddr, rueidis.ErrClosing}

// away reports whether an error from connect means that the server did not answer or is still starting.
func away(err error) bool {
	if answer, ok := rueidis.IsRedisErr(err); ok {
		return (&redisstore.ServerError{Text: answer.Error()}).Away()
	}
	_, ok := errors.AsType[*net.OpError](err)
	return ok || slices.ContainsFunc(silence, func(known error) bool { return errors.Is(err, known) })
}

// Do sends the commands. See [redisstore.Conn].
func (l *lateConn) Do(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply) {
	if c := l.conn.Load(); c != nil {
		c.Do(ctx, commands, replies)
		return
	}
	l.failAll(replies)
}

func (l *lateConn) failAll(replies []redisstore.Reply) {
	err := *l.failure.Load()
	for i := range replies {
		replies[i] = redisstore.Reply{Err: err}
	}
}

// Subscribe receives the messages on a channel. See [redisstore.Conn].
func (l *lateConn) Subscribe(ctx context.Context, channel string, ready func(), received func(string)) error {
	if c := l.conn.Load(); c != nil {
		return c.Subscribe(ctx, channel, ready, received)
	}
	return *l.failure.Load()
}

// Cluster reports whether the server is a Cluster.
func (l *lateConn) Cluster() bool { return l.cluster }

// Close stops the attempts and closes the connections.
func (l *lateConn) Close() error {
	l.stop()
	l.attempt.Wait()
	if c := l.conn.Load(); c != nil {
		return c.Close()
	}
	return nil
}
