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

	mu    sync.Mutex
	err   error // why it ended too early
	ended bool  // the handler returns; the deadline is the server's again
}

var errEnded = errors.New("the request has ended")

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
