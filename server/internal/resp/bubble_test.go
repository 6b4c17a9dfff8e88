package resp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/wire"
)

// fakeDecider answers each request with its key, and records its calls.
type fakeDecider struct {
	wait func(ctx context.Context) // called before each answer

	mu    sync.Mutex
	calls [][]string
}

// decisions returns the command "ask", which makes a request for each word and replies with all answers. The word "bad"
// causes an error.
func (a *fakeDecider) decisions() []resp.DecisionCommand {
	return []resp.DecisionCommand{{
		Spec: resp.Spec{Name: "ask", Arity: -2, Flags: []string{"fast"}, FirstKey: 1, LastKey: -1, KeyStep: 1},
		Parse: func(dst []decide.Request, words [][]byte) ([]decide.Request, error) {
			for _, word := range words[1:] {
				if string(word) == "bad" {
					return dst, errors.New("bad key")
				}
				dst = append(dst, decide.Request{Item: decide.Item{Key: string(word)}})
			}
			return dst, nil
		},
		Reply: func(dst []byte, _ wire.Proto, answers []decide.Response) []byte {
			var keys []string
			for i := range answers {
				keys = append(keys, answers[i].Policy)
			}
			return wire.AppendSimple(dst, strings.Join(keys, "+"))
		},
	}}
}

func (a *fakeDecider) decide(ctx context.Context, requests []decide.Request, answers []decide.Response) {
	if a.wait != nil {
		a.wait(ctx)
	}
	var keys []string
	for i := range answers {
		answers[i].Policy += requests[i].Key // Policy is empty, unless a pool reused an old answer
		keys = append(keys, strings.Fields(requests[i].Key)...)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, keys)
}

// inBubble runs test with a server in a synctest bubble with fake time. The bubble ends when all its goroutines have
// ended, so a leaked goroutine fails the test.
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

// listener accepts one end of a pipe for each call of dial. Accept returns the errors sent to failures.
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

// dialFrom is like dial, but sets the client's address.
func (l *listener) dialFrom(address string) net.Conn {
	client, server := net.Pipe()
	l.conns <- addressed{server, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))}
	l.clients = append(l.clients, client)
	return client
}

type addressed struct {
	net.Conn

	from net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.from }

func (l *listener) closeClients() {
	for _, client := range l.clients {
		client.Close()
	}
}

// exchange sends text in one write and returns the server's next write.
func exchange(t *testing.T, client net.Conn, text string) string {
	t.Helper()
	if _, err := io.WriteString(client, text); err != nil {
		t.Fatalf("sending %.60q: %v", text, err)
	}
	return receive(t, client)
}

// receive returns the server's next write. On a pipe, one read never returns the bytes of two writes.
func receive(t *testing.T, client net.Conn) string {
	t.Helper()
	buffer := make([]byte, 1<<20)
	n, err := client.Read(buffer)
	if err != nil {
		t.Fatalf("receiving: %v", err)
	}
	return string(buffer[:n])
}

// converse sends lines on one connection, one after another, and compares each reply.
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

// readToEnd reads until the server closes the connection and returns what it sent.
func readToEnd(t *testing.T, client net.Conn) string {
	t.Helper()
	rest, err := io.ReadAll(client)
	if err != nil {
		t.Errorf("reading to the end: %v", err)
	}
	return string(rest)
}
