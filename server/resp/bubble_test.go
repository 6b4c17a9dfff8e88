package resp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/headgate/headgate/server/resp"
	"github.com/headgate/headgate/server/resp/wire"
	"github.com/headgate/headgate/server/service"
)

// asker answers each request with itself and remembers its calls.
type asker struct {
	wait func(ctx context.Context) // before it answers

	mu    sync.Mutex
	calls [][]string
}

// decisions returns the command ask, which makes a request of each word. Each
// answer stands in the reply; the word "bad" is refused.
func (a *asker) decisions() []resp.Decision {
	return []resp.Decision{{
		Spec: resp.Spec{Name: "ask", Arity: -2, Flags: []string{"fast"}, FirstKey: 1, LastKey: -1, KeyStep: 1, Syntax: "key [key]", Summary: "Answers.", Group: "test"},
		Parse: func(dst []service.Request, words [][]byte) ([]service.Request, error) {
			for _, word := range words[1:] {
				if string(word) == "bad" {
					return dst, errors.New("bad key")
				}
				dst = append(dst, service.Request{Key: string(word)})
			}
			return dst, nil
		},
		Reply: func(dst []byte, _ wire.Proto, answers []service.Response) []byte {
			var said []string
			for i := range answers {
				said = append(said, answers[i].Policy)
			}
			return wire.AppendSimple(dst, strings.Join(said, "+"))
		},
	}}
}

func (a *asker) decide(ctx context.Context, requests []service.Request, answers []service.Response) {
	if a.wait != nil {
		a.wait(ctx)
	}
	var keys []string
	for i := range answers {
		answers[i].Policy += requests[i].Key // it was empty before
		keys = append(keys, strings.Fields(requests[i].Key)...)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, keys)
}

// inBubble serves in a bubble of fake time while test runs. The bubble does not
// end before every goroutine in it has, so one that is left fails the test.
func inBubble(t *testing.T, cfg resp.Config, test func(t *testing.T, s *resp.Server, l *listener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := resp.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		l := newListener()
		done := make(chan error, 1)
		go func() { done <- s.Serve(l) }()
		defer func() {
			l.closeClients()
			if err := s.Shutdown(context.Background()); err != nil {
				t.Errorf("shutdown: %v", err)
			}
			if err := <-done; err != nil {
				t.Errorf("serve: %v", err)
			}
		}()
		test(t, s, l)
	})
}

// listener accepts one end of a pipe for each call of dial, and fails with what
// is sent to failures.
type listener struct {
	conns    chan net.Conn
	failures chan error
	closed   chan struct{}
	close    func()
	clients  []net.Conn
}

func newListener() *listener {
	l := &listener{conns: make(chan net.Conn), failures: make(chan error), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case err := <-l.failures:
		return nil, err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error { l.close(); return nil }
func (*listener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *listener) dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	l.clients = append(l.clients, client)
	return client
}

func (l *listener) closeClients() {
	for _, client := range l.clients {
		client.Close()
	}
}

// exchange sends text by one write, and returns what comes back by one write of
// the server.
func exchange(t *testing.T, client net.Conn, text string) string {
	t.Helper()
	if _, err := io.WriteString(client, text); err != nil {
		t.Fatalf("sending %.60q: %v", text, err)
	}
	return receive(t, client)
}

// receive returns what the server sends by one write: on a pipe no read takes
// from two.
func receive(t *testing.T, client net.Conn) string {
	t.Helper()
	buffer := make([]byte, 1<<20)
	n, err := client.Read(buffer)
	if err != nil {
		t.Fatalf("receiving: %v", err)
	}
	return string(buffer[:n])
}

// converse sends each line on one connection, and compares the reply to it.
func converse(t *testing.T, cfg resp.Config, lines [][2]string) {
	t.Helper()
	inBubble(t, cfg, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		for _, line := range lines {
			if got, want := exchange(t, client, line[0]+"\r\n"), line[1]+"\r\n"; got != want {
				t.Errorf("%.60q\n got %.300q\nwant %.300q", line[0], got, want)
			}
		}
	})
}

// ended makes sure that the server has closed the connection, and returns what
// it sent before.
func ended(t *testing.T, client net.Conn) string {
	t.Helper()
	rest, err := io.ReadAll(client)
	if err != nil {
		t.Errorf("reading to the end: %v", err)
	}
	return string(rest)
}
