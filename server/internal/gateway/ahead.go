package gateway

import (
	"net/http"
	"sync"
)

// maxAhead is the largest part of a body that is read while its request waits, in bytes.
const maxAhead = 16 << 10

// ahead is the beginning of a body, which is read while its request waits: an HTTP/1 server notices that a client has
// left only after the end of the request's body.
type ahead struct {
	done chan struct{} // closed when the reader has ended

	mu    sync.Mutex
	more  sync.Cond
	data  []byte // was read, and not yet taken
	stop  bool   // the reader ends after its current read
	ended bool   // the reader has ended
	err   error  // the end of the body, if the reader has reached it
}

// readAhead begins to read a body, unless it is known to be larger than maxAhead. It returns a channel that is closed
// when nothing more is read, or nil if nothing is.
func (b *clientBody) readAhead(r *http.Request) <-chan struct{} {
	if b == nil || !b.http1 || r.ContentLength > maxAhead {
		return nil
	}
	a := &ahead{done: make(chan struct{})}
	a.more.L = &a.mu
	b.ahead = a
	go a.run(b.next)
	return a.done
}

// run reads until the buffer is full, the body ends or take is called. A read that blocks ends by the body's deadlines.
func (a *ahead) run(read func([]byte) (int, error)) {
	defer close(a.done)
	buffer, n := make([]byte, maxAhead), 0
	for ended := false; !ended; {
		more, err := read(buffer[n:])
		a.mu.Lock()
		a.data = buffer[n-len(a.data) : n+more]
		n += more
		ended = err != nil || n == len(buffer) || a.stop
		a.ended, a.err = ended, err
		a.mu.Unlock()
		a.more.Signal()
	}
}

// take moves bytes that were read into p, and waits for some if there are none. If ok is false, there are no more, and
// the rest must be read from the client.
func (a *ahead) take(p []byte) (n int, err error, ok bool) { //nolint:revive // n and err are those of a read
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop = true
	for len(a.data) == 0 && !a.ended {
		a.more.Wait()
	}
	n = copy(p, a.data)
	a.data = a.data[n:]
	if n > 0 {
		return n, nil, true
	}
	return 0, a.err, a.err != nil
}
