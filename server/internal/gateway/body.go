package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// bodyWindow is how long the gateway may wait, in total, for each [Config.BodyRate] bytes of a body.
const bodyWindow = 10 * time.Second

// clientBody is the body of a request. It ends early if the client sends nothing for the stall timeout, or too little
// in bodyWindow, because a slow body occupies a slot in the gateway and a connection to an upstream.
type clientBody struct {
	io.ReadCloser

	writer *http.ResponseController
	stall  time.Duration
	window time.Duration // bodyWindow, except in tests
	unread time.Duration // unreadWait, except in tests
	http1  bool

	// minBytes is the number of bytes that a client must send per window; 0 means no bound. received is the number of
	// bytes received in the current window, and waited is the time that the gateway has spent waiting for them. Time
	// during which the upstream accepts no bytes does not count.
	minBytes, received int64
	waited             time.Duration
	trailers           *trailers    // nil if none are announced
	messages           *frames      // for a gRPC call over HTTP/2, or nil
	slow               atomic.Int64 // total time of all reads, in ns
	ahead              *ahead       // what was read while the request waited, or nil

	mu    sync.Mutex
	err   error // the reason for an early end
	whole bool  // all of the body was read
	ended bool  // the handler has returned
}

var errEnded = errors.New("the request has ended")

// unreadWait is how long the gateway's own answers wait for the rest of a body. Most bodies arrive with their header,
// in which case the connection can be reused.
const unreadWait = 50 * time.Millisecond

// body returns the body of a request, or nil if the request has none.
func (g *Gateway) body(w http.ResponseWriter, r *http.Request) *clientBody {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	b := &clientBody{
		ReadCloser: r.Body, writer: http.NewResponseController(w), stall: g.config.StallTimeout, window: g.bodyWindow, unread: g.unreadWait,
		http1: r.ProtoMajor == 1, minBytes: g.config.BodyRate,
	}
	if len(r.Trailer) > 0 {
		b.trailers = newTrailers(r.Trailer)
	}
	if !b.http1 && isGRPC(r) { // a gRPC stream with few messages is naturally slow
		b.messages = &frames{}
	}
	return b
}

// Read implements [io.Reader]. The transport may call it until the handler has returned.
func (b *clientBody) Read(p []byte) (int, error) {
	if b.ahead != nil {
		if n, err, ok := b.ahead.take(p); ok {
			return n, err
		}
		b.ahead = nil
	}
	return b.next(p)
}

func (b *clientBody) next(p []byte) (int, error) {
	began := time.Now()
	if !b.deadline(began.Add(b.patience())) {
		return 0, b.over()
	}
	n, err := b.ReadCloser.Read(p) // at EOF the server removes the deadline
	took := time.Since(began)
	b.slow.Add(int64(took))
	b.count(p[:n], took)
	if errors.Is(err, io.EOF) {
		err = b.atEnd()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.err = err
	}
	return n, err
}

// over returns the error of a read after the end.
func (b *clientBody) over() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.whole && !b.ended {
		return io.EOF
	}
	return errEnded
}

// atEnd notes that the body was read, and returns the error of the read: EOF unless the trailers are invalid.
func (b *clientBody) atEnd() error {
	b.mu.Lock()
	b.whole = true
	b.mu.Unlock()
	if b.trailers != nil {
		return b.trailers.copy()
	}
	return io.EOF
}

// patience returns the time limit for the next read.
func (b *clientBody) patience() time.Duration {
	if b.minBytes == 0 || b.messages != nil && b.messages.between() {
		return b.stall
	}
	return min(b.stall, b.window-b.waited)
}

// count counts the bytes of a read. A new window starts after enough bytes, or at the end of a gRPC message. The time
// before a message does not count.
func (b *clientBody) count(p []byte, took time.Duration) {
	if b.messages != nil {
		if b.messages.between() {
			took = 0
		}
		if b.messages.follow(p) {
			b.received, b.waited = 0, 0
			return
		}
	}
	b.received += int64(len(p))
	b.waited += took
	if b.received >= b.minBytes {
		b.received, b.waited = 0, 0
	}
}

// leave sets a short deadline for the rest of the body. The gateway calls it before each answer of its own, because an
// HTTP/1 server reads the rest of a body, up to 256 KiB, before it sends a response header. Without the deadline, a
// client that sends no body would get no answer (regression: bug 70). After the deadline, the server answers and closes
// the connection. The receiver can be nil.
func (b *clientBody) leave() {
	if b != nil && b.http1 && b.deadline(time.Now().Add(b.unread)) {
		b.end()
	}
}

// deadline sets the deadline for reads from the client. After a call of end it does nothing and returns false, and
// after the end of the body too: the server then waits for the client's next bytes, without a deadline, to notice that
// the client leaves.
func (b *clientBody) deadline(t time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || b.whole {
		return false
	}
	_ = b.writer.SetReadDeadline(t) // if deadlines are not supported, the server's own bounds apply
	return true
}

// end makes further reads fail, and keeps deadline from using the writer. Call it before the handler returns, because
// the server reuses the writer after that. The receiver can be nil.
func (b *clientBody) end() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

// failed returns the reason why the body ended early. It returns nil if the body did not end early, or is still being
// read. The receiver can be nil.
func (b *clientBody) failed() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
