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

// ownConn is a connection that Open makes. It can replace its client. If the server is unavailable when the store is
// opened, there is no client yet: the connection is made in the background, and calls fail until then.
type ownConn struct {
	connect func(context.Context) (rueidis.Client, error)
	cluster bool
	conn    atomic.Pointer[conn]  // nil until the server has answered
	failure atomic.Pointer[error] // from the last attempt
	life    context.Context
	stop    context.CancelFunc
	works   sync.WaitGroup
	mu      sync.Mutex // held while a client is set or closed
}

// firstPause and lastPause bound the pause between attempts, which grows with each attempt. The pause is partly random,
// so that many processes do not reconnect at the same moment.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

const attemptTimeout = 2 * dialTimeout

// newOwnConn returns a connection that uses the client. If the first attempt failed with err, there is no client, and
// newOwnConn starts connecting in the background.
func newOwnConn(connect func(context.Context) (rueidis.Client, error), cluster bool, client rueidis.Client, err error) *ownConn {
	o := &ownConn{connect: connect, cluster: cluster}
	o.life, o.stop = context.WithCancel(context.Background())
	if err == nil {
		o.use(client)
		return o
	}
	o.fail(err)
	o.works.Go(o.run)
	return o
}

// use makes further calls use the client, and closes the previous one once its calls have ended. It closes the client if
// the connection is closed.
func (o *ownConn) use(client rueidis.Client) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.life.Err() != nil {
		client.Close()
		return
	}
	if old := o.conn.Swap(newConn(client, o.cluster)); old != nil {
		o.works.Go(old.client.Close)
	}
}

// Renew replaces the client by one that has dialed the address again and has read the files of the URL again. See
// [redisstore.Conn]. A Cluster client follows redirections to new primaries, and reads the password for each connection.
func (o *ownConn) Renew(ctx context.Context) {
	if o.cluster || o.conn.Load() == nil { // without a client, run dials anyway
		return
	}
	if client, err := o.connect(ctx); err == nil {
		o.use(client)
	}
}

// run connects until it succeeds.
func (o *ownConn) run() {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		timer := time.NewTimer(pause/2 + rand.N(pause/2)) //nolint:gosec // no secret: it spreads attempts
		select {
		case <-o.life.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		client, err := o.try()
		if err == nil {
			o.use(client)
			return
		}
		o.fail(err)
	}
}

func (o *ownConn) try() (rueidis.Client, error) {
	ctx, cancel := context.WithTimeout(o.life, attemptTimeout)
	defer cancel()
	return o.connect(ctx)
}

// fail records why there is no connection. It keeps an error reply from the server, such as for a wrong password,
// unchanged.
func (o *ownConn) fail(err error) {
	err = translate(err)
	if _, answered := errors.AsType[*redisstore.ServerError](err); !answered && !errors.Is(err, redisstore.ErrNotSent) {
		err = fmt.Errorf("%w: %w", redisstore.ErrNotSent, err)
	}
	o.failure.Store(&err)
}

// silence lists errors that mean that a connection got no answer. Network errors mean the same and are not listed.
var silence = []error{io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded, rueidis.ErrNoSlot, rueidis.ErrNoAddr, rueidis.ErrClosing}

// away reports whether an error from connect means that the server did not answer or is still starting.
func away(err error) bool {
	if answer, ok := rueidis.IsRedisErr(err); ok {
		return (&redisstore.ServerError{Text: answer.Error()}).Class().Temporary()
	}
	_, ok := errors.AsType[*net.OpError](err)
	return ok || slices.ContainsFunc(silence, func(known error) bool { return errors.Is(err, known) })
}

// Do sends the commands. See [redisstore.Conn].
func (o *ownConn) Do(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply) {
	if c := o.conn.Load(); c != nil {
		c.Do(ctx, commands, replies)
		return
	}
	failAll(replies, *o.failure.Load())
}

func failAll(replies []redisstore.Reply, err error) {
	for i := range replies {
		replies[i] = redisstore.Reply{Err: err}
	}
}

// Cluster reports whether the server is a Cluster.
func (o *ownConn) Cluster() bool { return o.cluster }

// Close stops the attempts and closes the connections.
func (o *ownConn) Close() error {
	o.stop()
	o.mu.Lock()
	c := o.conn.Load()
	o.mu.Unlock()
	if c != nil {
		c.client.Close()
	}
	o.works.Wait()
	return nil
}
