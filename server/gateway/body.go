package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// bodyWindow is the time in which a client must send the least number of bytes of its body.
const bodyWindow = 10 * time.Second

// clientBody is the body of a request. It ends early if its client sends no byte of it for the stall timeout,
// or too few in bodyWindow: a slow body keeps a place in the gateway and a connection to an upstream.
type clientBody struct {
	io.ReadCloser

	writer *http.ResponseController
	stall  time.Duration
	window time.Duration // bodyWindow; tests have less
	unread time.Duration // unreadWait; tests have more
	http1  bool

	// least is how many bytes a client must send in window; 0 is no bound. came have come in the window
	// that is open, in which the gateway has waited for so long. The time in which an upstream takes no
	// bytes does not count.
	least, came int64
	waited      time.Duration
	slow        atomic.Int64 // in all, ns

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
	b := &clientBody{
		ReadCloser: r.Body, writer: http.NewResponseController(w), stall: g.config.StallTimeout, window: g.bodyWindow, unread: g.unreadWait,
		http1: r.ProtoMajor == 1, least: g.config.LeastBody,
	}
	if !b.http1 && isGRPC(r) { // a stream of few messages is slow by its nature
		b.least = 0
	}
	return b
}

// Read implements [io.Reader]. The transport can call it until the handler has returned.
func (b *clientBody) Read(p []byte) (int, error) {
	began := time.Now()
	if !b.deadline(began.Add(b.patience())) {
		return 0, errEnded
	}
	n, err := b.ReadCloser.Read(p) // at its end the server takes the deadline away
	took := time.Since(began)
	b.slow.Add(int64(took))
	b.count(n, took)
	if err != nil && !errors.Is(err, io.EOF) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.err = err
	}
	return n, err
}

// patience is how long the next read may take.
func (b *clientBody) patience() time.Duration {
	if b.least == 0 {
		return b.stall
	}
	return min(b.stall, b.window-b.waited)
}

// count counts the bytes of a read. With enough of them a new window begins.
func (b *clientBody) count(n int, took time.Duration) {
	b.came += int64(n)
	b.waited += took
	if b.came >= b.least {
		b.came, b.waited = 0, 0
	}
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
