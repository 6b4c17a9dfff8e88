package resp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/server/resp"
	"github.com/headgate/headgate/server/resp/wire"
)

// echo is a decider that answers each request with itself, and remembers how
// many came in each call.
type echo struct {
	mu    sync.Mutex
	calls []int
}

func (e *echo) decide(_ context.Context, requests, answers []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, len(requests))
	copy(answers, requests)
}

func (e *echo) decisions() resp.Decisions {
	return resp.NewDecisions(e.decide, resp.Decision[string, string]{
		Spec: resp.Spec{Name: "ask", Arity: -2, FirstKey: 1, LastKey: -1, KeyStep: 1, Syntax: "key [key ...]", Summary: "Answers.", Group: "test"},
		Parse: func(dst []string, words [][]byte) ([]string, error) {
			for _, w := range words[1:] {
				if string(w) == "bad" {
					return dst, errors.New("bad key")
				}
				dst = append(dst, string(w))
			}
			return dst, nil
		},
		Reply: func(dst []byte, _ wire.Proto, answers []string) []byte {
			return wire.AppendBulk(dst, strings.Join(answers, "+"))
		},
	})
}

type session struct {
	net.Conn
	replies *bufio.Reader
}

// serve starts a server and returns its address; it is shut down at the end.
func serve(t *testing.T, c resp.Config) string {
	t.Helper()
	s, err := resp.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		for range 2 { // it may be called again
			if err := s.Shutdown(context.Background()); err != nil {
				t.Errorf("shutdown: %v", err)
			}
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, address string) session {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return session{Conn: conn, replies: wire.NewReplyReader(conn)}
}

func (s session) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(s, text); err != nil {
		t.Fatal(err)
	}
}

// reply returns the next reply as text: errors with a minus before them, arrays
// in brackets.
func (s session) reply(t *testing.T) string {
	t.Helper()
	v, err := wire.ReadValue(s.replies)
	if err != nil {
		t.Fatalf("reading a reply: %v", err)
	}
	return show(v)
}

func show(v wire.Value) string {
	switch v.Kind {
	case wire.Error:
		return "-" + v.Text
	case wire.Integer:
		return string(wire.AppendInt(nil, v.Int)[1 : len(wire.AppendInt(nil, v.Int))-2])
	case wire.Null:
		return "null"
	case wire.Array, wire.Map, wire.Set:
		items := make([]string, len(v.Items))
		for i := range v.Items {
			items[i] = show(v.Items[i])
		}
		return string(v.Kind) + "[" + strings.Join(items, " ") + "]"
	default:
		return v.Text
	}
}

// TestCommands sends each line on one connection, in order.
func TestCommands(t *testing.T) {
	e := &echo{}
	s := dial(t, serve(t, resp.Config{Decisions: e.decisions(), Version: "1.2.3", Logger: slog.New(slog.DiscardHandler)}))
	for _, c := range []struct{ send, want string }{
		{"PING", "PONG"},
		{"ping hello", "hello"},
		{"PING a b", "-ERR wrong number of arguments for 'ping' command"},
		{"ECHO \"a b\"", "a b"},
		{"ECHO", "-ERR wrong number of arguments for 'echo' command"},
		{"ask a b", "a+b"},
		{"ASK bad", "-ERR bad key"},
		{"ask", "-ERR wrong number of arguments for 'ask' command"},
		{"GET k v", "-ERR unknown command 'GET', with args beginning with: 'k' 'v' "},
		{strings.Repeat("x", 200) + "\x01 a", "-ERR unknown command '" + strings.Repeat("x", 128) + "', with args beginning with: 'a' "},
		{"SELECT 0", "OK"},
		{"SELECT 1", "-ERR DB index is out of range"},
		{"AUTH default anything", "OK"},
		{"CLIENT SETNAME me", "OK"},
		{"CLIENT GETNAME", "me"},
		{"CLIENT SETINFO LIB-NAME x", "OK"},
		{"CLIENT ID", "1"},
		{"CLIENT NOSUCH", "-ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP."},
		{"WATCH k", "*"},
		{"UNWATCH", "OK"},
		{"EXEC", "-ERR EXEC without MULTI"},
		{"DISCARD", "-ERR DISCARD without MULTI"},
		{"MULTI", "OK"},
		{"ask a", "QUEUED"},
		{"PING", "QUEUED"},
		{"MULTI", "-ERR MULTI calls can not be nested"},
		{"ask b", "QUEUED"},
		{"EXEC", "*[a PONG b]"},
		{"MULTI", "OK"},
		{"ask a", "QUEUED"},
		{"DISCARD", "OK"},
		{"MULTI", "OK"},
		{"NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: "},
		{"EXEC", "-EXECABORT Transaction discarded because of previous errors."},
		{"HELLO 4", "-NOPROTO unsupported protocol version"},
		{"HELLO 3", "%"},
		{"CLIENT GETNAME", "me"},
		{"RESET", "RESET"},
		{"CLIENT GETNAME", "null"},
		{"COMMAND COUNT", ""},
		{"COMMAND INFO ask nosuch", "*[*[ask -2"},
		{"COMMAND DOCS ask", "*[ask "},
		{"INFO", "# Server"},
		{"INFO server", "headgate_version:1.2.3"},
		{"QUIT", "OK"},
	} {
		s.send(t, c.send+"\r\n")
		got := s.reply(t)
		if exact := !strings.HasPrefix(c.send, "COMMAND") && !strings.HasPrefix(c.send, "INFO") && !strings.HasPrefix(c.send, "HELLO") && c.send != "WATCH k"; exact && got != c.want || !strings.Contains(got, strings.TrimPrefix(c.want, "*")) {
			t.Errorf("%.60q: %.200q, want %q", c.send, got, c.want)
		}
	}
	if _, err := s.replies.ReadByte(); err != io.EOF {
		t.Errorf("after QUIT: %v, want the end", err)
	}
}

// TestPipeline: replies come in order, and decision commands that follow one
// another are one call of the decider.
func TestPipeline(t *testing.T) {
	e := &echo{}
	client, server := net.Pipe()
	s, err := resp.New(resp.Config{Decisions: e.decisions()})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(newOnce(server)) }()
	go func() {
		_, _ = io.WriteString(client, "ask a\r\nask b c\r\nask bad\r\nask d\r\nPING\r\nask e\r\nQUIT\r\n")
	}()
	// One read of a pipe is one write of the server: all replies come at once.
	buffer := make([]byte, 4096)
	n, err := client.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	const want = "$1\r\na\r\n$3\r\nb+c\r\n-ERR bad key\r\n$1\r\nd\r\n+PONG\r\n$1\r\ne\r\n+OK\r\n"
	if got := string(buffer[:n]); got != want {
		t.Errorf("replies %q, want %q", got, want)
	}
	if !slices.Equal(e.calls, []int{4, 1}) {
		t.Errorf("the decider was called with %v requests, want [4 1]", e.calls)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// once is a listener with one connection.
type once struct {
	conns chan net.Conn
	ended chan struct{}
	close func()
}

func newOnce(conn net.Conn) *once {
	l := &once{conns: make(chan net.Conn, 1), ended: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.ended) })
	l.conns <- conn
	return l
}

func (l *once) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}
func (l *once) Close() error   { l.close(); return nil }
func (l *once) Addr() net.Addr { return &net.TCPAddr{} }

// TestHostile: a protocol error is told, and the connection closed.
func TestHostile(t *testing.T) {
	address := serve(t, resp.Config{})
	for _, in := range []string{
		"*1\r\n$9999999999\r\n", "*9999999999\r\n", "*-5\r\n", "*1\r\n$-5\r\n", "*1\r\n*1\r\n", "*1\r\n:1\r\n", "PING \"a\r\n",
		"$" + strings.Repeat("1", 100_000), strings.Repeat("x", 200_000) + "\r\n",
	} {
		s := dial(t, address)
		_, _ = io.WriteString(s, in) // the server may close before all is sent
		rest, _ := io.ReadAll(s)
		if text := string(rest); text != "" && !strings.HasPrefix(text, "-ERR ") {
			t.Errorf("%.40q is answered %.80q, want an error and the end", in, text)
		}
	}
	s := dial(t, address)
	s.send(t, "PING\r\n")
	if got := s.reply(t); got != "PONG" {
		t.Errorf("after hostile clients: %q", got)
	}
}

func TestMaxConns(t *testing.T) {
	address := serve(t, resp.Config{MaxConns: 1})
	first := dial(t, address)
	first.send(t, "PING\r\n")
	first.reply(t)
	second := dial(t, address)
	if got := second.reply(t); got != "-ERR max number of clients reached" {
		t.Errorf("one connection too many: %q", got)
	}
}

// TestNeverReads: a client that takes no replies is closed, and does not hold
// the server.
func TestNeverReads(t *testing.T) {
	s, err := resp.New(resp.Config{WriteTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	client, server := net.Pipe()
	defer client.Close()
	done := make(chan error, 1)
	go func() { done <- s.Serve(newOnce(server)) }()
	if _, err := io.WriteString(client, "PING\r\n"); err != nil {
		t.Fatal(err)
	}
	// The reply is never read; once it has timed out, a write finds the end.
	for err == nil {
		_, err = io.WriteString(client, "PING\r\n")
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []resp.Config{{MaxConns: -1}, {IdleTimeout: -1}, {ReadTimeout: -1}, {WriteTimeout: -1}} {
		if _, err := resp.New(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	e := &echo{}
	named := func(name string) resp.Decisions {
		return resp.NewDecisions(e.decide, resp.Decision[string, string]{Spec: resp.Spec{Name: name, Arity: 1}})
	}
	for _, name := range []string{"", "ping", "UPPER", "a|b", strings.Repeat("x", 65)} {
		if _, err := resp.New(resp.Config{Decisions: named(name)}); err == nil {
			t.Errorf("a command called %q was accepted", name)
		}
	}
}

// TestQueueBound: a transaction cannot hold memory without end.
func TestQueueBound(t *testing.T) {
	s := dial(t, serve(t, resp.Config{}))
	s.send(t, "MULTI\r\n")
	s.reply(t)
	refused := false
	for range 40 {
		s.send(t, strings.Repeat("PING x\r\n", 1000))
		for range 1000 {
			if reply := s.reply(t); strings.HasPrefix(reply, "-") {
				refused = true
			}
		}
	}
	if !refused {
		t.Error("40000 commands were queued")
	}
	s.send(t, "EXEC\r\n")
	if got := s.reply(t); !strings.HasPrefix(got, "-EXECABORT") {
		t.Errorf("EXEC of a queue that overflowed: %.80q", got)
	}
}
