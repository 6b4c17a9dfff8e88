package gateway

import (
	"encoding/binary"
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

// withDeadlines is a ResponseWriter that supports a connection's read deadline.
type withDeadlines struct {
	http.ResponseWriter
	net.Conn
}

func (w withDeadlines) Write(p []byte) (int, error) { return w.ResponseWriter.Write(p) }

// TestLeastRateOfABody (regression: bug 70): for each 10 s of waiting, a client must send a minimum number of bytes.
func TestLeastRateOfABody(t *testing.T) {
	for _, c := range []struct {
		name         string
		minBytes     int64
		stall, every time.Duration
		bytes        int           // size of each write of the client
		once         bool          // the client writes once and then sends nothing
		pause        time.Duration // the reader's pause before each read
		want         time.Duration // time until the body ends; 0 means not within a minute
	}{
		{name: "a byte a second", minBytes: 1024, stall: 30 * time.Second, every: time.Second, bytes: 1, want: 10 * time.Second},
		{name: "nothing", minBytes: 1024, stall: 30 * time.Second, every: time.Hour, bytes: 1, want: 10 * time.Second},
		{name: "a byte too few", minBytes: 1024, stall: 30 * time.Second, every: 3 * time.Second, bytes: 341, want: 10 * time.Second},
		{name: "enough", minBytes: 1024, stall: 30 * time.Second, every: 3 * time.Second, bytes: 342},
		{name: "enough at once", minBytes: 1024, stall: 30 * time.Second, every: 9 * time.Second, bytes: 1024},
		{name: "much, and then nothing", minBytes: 1024, stall: 30 * time.Second, every: time.Second, bytes: 1 << 20, once: true, want: 11 * time.Second},
		{name: "an upstream that is slow", minBytes: 1024, stall: 30 * time.Second, every: time.Millisecond, bytes: 1, pause: 11 * time.Millisecond},
		{name: "no bound", stall: 30 * time.Second, every: 29 * time.Second, bytes: 1},
		{name: "the stall timeout is less", minBytes: 1024, stall: 2 * time.Second, every: 3 * time.Second, bytes: 4096, want: 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, conn := net.Pipe()
				b := &clientBody{ReadCloser: conn, writer: http.NewResponseController(withDeadlines{httptest.NewRecorder(), conn}), stall: c.stall, window: bodyWindow, minBytes: c.minBytes}
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

// TestGRPCMessagesHaveALeastRate checks that a stream may be slow between messages, but not within a message, and
// only over HTTP/2.
func TestGRPCMessagesHaveALeastRate(t *testing.T) {
	g := &Gateway{config: Config{BodyRate: 1024}}
	for _, c := range []struct {
		major       int
		contentType string
		follows     bool
	}{{2, "application/grpc", true}, {2, "application/json", false}, {1, "application/grpc", false}} {
		r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader())
		r.ProtoMajor = c.major
		r.Header.Set("Content-Type", c.contentType)
		if b := g.body(httptest.NewRecorder(), r); b.minBytes != 1024 || (b.messages != nil) != c.follows {
			t.Errorf("HTTP/%d, %s: %d bytes, messages %v", c.major, c.contentType, b.minBytes, b.messages)
		}
	}
	message := append([]byte{0, 0, 0, 0, 20}, make([]byte, 20)...)
	for _, c := range []struct {
		name   string
		pieces [][]byte // one every 9 s
		want   time.Duration
	}{
		{name: "whole messages", pieces: [][]byte{message, message, append(message, message...), message}},
		{name: "an empty message", pieces: [][]byte{message[:4], {0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0}, message}},
		{name: "a message in two pieces", pieces: [][]byte{message[:7], message[7:], message[:3], message[3:]}},
		{name: "the head of a message", pieces: [][]byte{message, message[:3]}, want: 19 * time.Second},
		{name: "a byte of a message after another one", pieces: [][]byte{append(message, 0), {0}, message}, want: 10 * time.Second},
		{name: "a trickle", pieces: [][]byte{message, message[:6], message[6:7], message[7:]}, want: 19 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, conn := net.Pipe()
				b := &clientBody{
					ReadCloser: conn, writer: http.NewResponseController(withDeadlines{httptest.NewRecorder(), conn}),
					stall: 30 * time.Second, window: bodyWindow, minBytes: 1024, messages: &frames{},
				}
				go func() {
					for i, piece := range c.pieces {
						if i > 0 {
							time.Sleep(9 * time.Second)
						}
						_, _ = client.Write(piece)
					}
					if c.want != 0 {
						time.Sleep(20 * time.Second)
					}
					client.Close()
				}()
				began, err := time.Now(), error(nil)
				for err == nil {
					_, err = b.Read(make([]byte, 64))
				}
				if took := time.Since(began); c.want == 0 && !errors.Is(err, io.EOF) || c.want != 0 && (took != c.want || !errors.Is(err, os.ErrDeadlineExceeded)) {
					t.Errorf("ended after %v: %v, want after %v", took, err, c.want)
				}
				conn.Close()
				time.Sleep(time.Hour) // until the client has noticed
			})
		})
	}
}

// FuzzFrames checks that a complete body ends between messages, however it is split into pieces.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("hello, frames"), uint8(3), uint8(4))
	f.Add([]byte{}, uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, messages, piece uint8) {
		var body []byte
		for i := range int(messages) {
			part := text[:len(text)*i/int(messages)]
			body = append(binary.BigEndian.AppendUint32(append(body, byte(i)), uint32(len(part))), part...)
		}
		size := max(1, int(piece))
		var m frames
		for at := 0; at < len(body); at += size {
			m.follow(body[at:min(len(body), at+size)])
		}
		if !m.between() {
			t.Errorf("%+v after whole messages", m)
		}
		if m.follow([]byte{0, 0, 0, 0}); m.between() {
			t.Error("a head without its last byte is no message")
		}
	})
}
