package gateway

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// withDeadlines is a ResponseWriter with the read deadline of a connection.
type withDeadlines struct {
	http.ResponseWriter
	net.Conn
}

func (w withDeadlines) Write(p []byte) (int, error) { return w.ResponseWriter.Write(p) }

// TestLeastRateOfABody (known bug 70): for each 10 s of waiting, a client must send a minimum number of bytes.
func TestLeastRateOfABody(t *testing.T) {
	for _, c := range []struct {
		name         string
		least        int64
		stall, every time.Duration
		bytes        int           // sent at once
		once         bool          // and nothing more
		pause        time.Duration // of the reader, before each read
		want         time.Duration // until it ends; 0 means not within a minute
	}{
		{name: "a byte a second", least: 1024, stall: 30 * time.Second, every: time.Second, bytes: 1, want: 10 * time.Second},
		{name: "nothing", least: 1024, stall: 30 * time.Second, every: time.Hour, bytes: 1, want: 10 * time.Second},
		{name: "a byte too few", least: 1024, stall: 30 * time.Second, every: 3 * time.Second, bytes: 341, want: 10 * time.Second},
		{name: "enough", least: 1024, stall: 30 * time.Second, every: 3 * time.Second, bytes: 342},
		{name: "enough at once", least: 1024, stall: 30 * time.Second, every: 9 * time.Second, bytes: 1024},
		{name: "much, and then nothing", least: 1024, stall: 30 * time.Second, every: time.Second, bytes: 1 << 20, once: true, want: 11 * time.Second},
		{name: "an upstream that is slow", least: 1024, stall: 30 * time.Second, every: time.Millisecond, bytes: 1, pause: 11 * time.Millisecond},
		{name: "no bound", stall: 30 * time.Second, every: 29 * time.Second, bytes: 1},
		{name: "the stall timeout is less", least: 1024, stall: 2 * time.Second, every: 3 * time.Second, bytes: 4096, want: 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, conn := net.Pipe()
				b := &clientBody{ReadCloser: conn, writer: http.NewResponseController(withDeadlines{httptest.NewRecorder(), conn}), stall: c.stall, window: bodyWindow, least: c.least}
				go func() {
					for err := error(nil); err == nil; {
						time.Sleep(c.every)
						_, err = client.Write(make([]byte, c.bytes))
						if c.once {
							return
						}
					}
				}()
				began := time.Now()
				var err error
				for err == nil && time.Since(began) < time.Minute {
					time.Sleep(c.pause)
					_, err = b.Read(make([]byte, bufferBytes))
				}
				took := time.Since(began)
				if c.want == 0 && err != nil || c.want != 0 && (took != c.want || !errors.Is(err, os.ErrDeadlineExceeded)) {
					t.Errorf("ended after %v: %v, want after %v", took, err, c.want)
				}
				client.Close()
				conn.Close()
				time.Sleep(2 * time.Hour) // until the client has noticed
			})
		})
	}
}

// TestGRPCHasNoLeastRate checks that a stream of messages may be slow, but only over HTTP/2.
func TestGRPCHasNoLeastRate(t *testing.T) {
	g := &Gateway{config: Config{LeastBody: 1024}}
	for _, c := range []struct {
		major       int
		contentType string
		want        int64
	}{{2, "application/grpc", 0}, {2, "application/json", 1024}, {1, "application/grpc", 1024}} {
		r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader())
		r.ProtoMajor = c.major
		r.Header.Set("Content-Type", c.contentType)
		if got := g.body(httptest.NewRecorder(), r).least; got != c.want {
			t.Errorf("HTTP/%d, %s: %d bytes, want %d", c.major, c.contentType, got, c.want)
		}
	}
}
