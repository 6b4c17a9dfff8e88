package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// clientBody is the body of a request. A client that sends no byte of it for the stall
// timeout ends it.
type clientBody struct {
	io.ReadCloser

	writer *http.ResponseController
	stall  time.Duration
	unread time.Duration // unreadWait; tests have more
	http1  bool

	mu    sync.Mutex
	err   error // why it ended too early
	ended bool  // the handler returns; the deadline is the server's again
}

var errEnded = errors.New("the request has ended")

// unreadWait is how long an answer of the gateway's own waits for the rest of a body. Most have come
// with their header, and the connection can then carry the next request.
const unreadWait = 50 * time.Millisecond

// body returns the body of a request; nil if it has none.
func (g *Gateway) body(w http.ResponseWriter, r *http.Request) *clientBody {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	return &clientBody{
		ReadCloser: r.Body, writer: http.NewResponseController(w), stall: g.config.StallTimeout, unread: g.unreadWait,
		http1: r.ProtoMajor == 1,
	}
}

// Read implements [io.Reader]. The transport can call it until the handler has returned.
func (b *clientBody) Read(p []byte) (int, error) {
	if !b.deadline(time.Now().Add(b.stall)) {
		return 0, errEnded
	}
	n, err := b.ReadCloser.Read(p) // at its end the server takes the deadline away
	if err != nil && !errors.Is(err, io.EOF) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.err = err
	}
	return n, err
}

// leave prepares an answer of the gateway's own. Over HTTP/1 the server reads the rest of a body, up to
// 256 KiB, before it sends the header of an answer. So a client that sent no body got no answer
// (known bug 70). After the deadline the server answers and closes the connection.
func (b *clientBody) leave() {
	if b != nil && b.http1 && b.deadline(time.Now().Add(b.unread)) {
		b.end()
	}
}

// deadline sets the deadline of the next read; false if the handler returns.
func (b *clientBody) deadline(t time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return false
	}
	_ = b.writer.SetReadDeadline(t) // without deadlines the server's own bounds apply
	return true
}

// end is called when the handler returns: the server's writer is then another request's.
func (b *clientBody) end() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

// failed returns why the body did not come to its end, nil if it did or may still. A nil
// body has none.
func (b *clientBody) failed() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
