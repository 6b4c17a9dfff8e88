package resp_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/internal/tlstest"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/users"
)

// hostile lists inputs that violate the protocol or a bound, each with its error.
var hostile = [][2]string{
	{"*1\r\n$9999999999\r\n", "invalid bulk length"},
	{"*9999999999\r\n", "invalid multibulk length"},
	{"*-5\r\n", "invalid multibulk length"},
	{"*1\r\n$-5\r\n", "invalid bulk length"},
	{"*1\r\n$-1\r\n", "invalid bulk length"},
	{"*1\r\n*1\r\n*1\r\n", "expected '$', got '*'"},
	{"*1\r\n:1\r\n", "expected '$', got ':'"},
	{"*1\r\n\xff\r\n", "expected '$', got '\\u00ff'"},
	{"*1\r\n$4\r\nPING!\r\n", "expected CRLF after bulk string"},
	{"PING \"a\r\n", "quotes in inline request; accepted: words without quotes, or an array"},
	{"*1\r\n$" + strings.Repeat("1", 40), "too big bulk count string"},
	{strings.Repeat("x", wire.MaxInline+1), "too big inline request"},
	{("*1024\r\n" + strings.Repeat("$65536\r\n"+strings.Repeat("x", 65536)+"\r\n", 16))[:wire.MaxCommand], "too big request"},
}

// TestHostileInputEndsTheConnection checks that commands before hostile input are answered, and that the server then
// sends the error and closes the connection.
func TestHostileInputEndsTheConnection(t *testing.T) {
	for _, c := range hostile {
		inBubble(t, resp.Config{}, func(t *testing.T, _ *resp.Server, l *listener) {
			client := l.dial()
			go func() { _, _ = io.WriteString(client, "PING\r\n"+c[0]) }() // the server may close the connection first
			want := "+PONG\r\n-ERR Protocol error: " + c[1] + "\r\n"
			if got := readToEnd(t, client); got != want {
				t.Errorf("%.40q is answered %q, want %q", c[0], got, want)
			}
		})
	}
}

func TestMaxConnsIsEnforced(t *testing.T) {
	inBubble(t, resp.Config{MaxConns: 1}, func(t *testing.T, _ *resp.Server, l *listener) {
		first := l.dial()
		exchange(t, first, "PING\r\n")
		if got := readToEnd(t, l.dial()); got != "-ERR max number of clients reached\r\n" {
			t.Errorf("a connection beyond MaxConns: %q", got)
		}
		// A rejected client that does not read its error delays others by at most rejectTimeout.
		l.dial()
		synctest.Wait()
		exchange(t, first, "QUIT\r\n")
		readToEnd(t, first)
		synctest.Wait()
		begin := time.Now()
		if got := exchange(t, l.dial(), "PING\r\n"); got != "+PONG\r\n" {
			t.Errorf("after the first client has left: %q", got)
		}
		if took := time.Since(begin); took > 100*time.Millisecond {
			t.Errorf("a client that does not read delayed others by %v", took)
		}
	})
}

// TestWriteTimeout checks that the connection of a client that does not read its replies is closed after
// WriteTimeout, so that the client's next write fails.
func TestWriteTimeout(t *testing.T) {
	const timeout = 7 * time.Second
	var log bytes.Buffer
	cfg := resp.Config{WriteTimeout: timeout, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	inBubble(t, cfg, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		begin := time.Now()
		var err error
		for err == nil {
			_, err = io.WriteString(client, "PING\r\n")
		}
		if took := time.Since(begin); !errors.Is(err, io.ErrClosedPipe) || took != timeout {
			t.Errorf("closed after %v with %v, want %v", took, err, timeout)
		}
	})
	if !strings.Contains(log.String(), "i/o timeout") {
		t.Errorf("the log does not say why: %s", &log)
	}
}

// TestNoDecisionAfterDisconnect checks that commands are not decided if the client can no longer read their replies.
func TestNoDecisionAfterDisconnect(t *testing.T) {
	long := strings.Repeat("COMMAND\r\n", 300)
	for _, pipeline := range []string{long + "ask a\r\n", "MULTI\r\n" + long + "ask a\r\nEXEC\r\n"} {
		a := &fakeDecider{}
		inBubble(t, resp.Config{Decisions: a.decisions(), Decide: a.decide}, func(t *testing.T, _ *resp.Server, l *listener) {
			client := l.dial()
			exchange(t, client, pipeline)
			client.Close()
		})
		if len(a.calls) > 0 {
			t.Errorf("%.20q: Decide was called with %q after the client has left", pipeline, a.calls)
		}
	}
}

// TestReadTimeout checks that a command may take up to ReadTimeout from its first byte, however many reads it needs,
// and that the next command gets the same time again.
func TestReadTimeout(t *testing.T) {
	const timeout = 7 * time.Second
	inBubble(t, resp.Config{ReadTimeout: timeout}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		later := func(d time.Duration, text string) {
			time.AfterFunc(d, func() { _, _ = io.WriteString(client, text) })
		}
		exchange(t, client, "PING\r\n")
		later(time.Hour, "PI") // no timeout applies before the first byte of a command
		later(time.Hour+timeout-1, "NG\r\nPI")
		receive(t, client)
		begin := time.Now()
		later(timeout-1, "N")
		readToEnd(t, client)
		if took := time.Since(begin); took != timeout {
			t.Errorf("closed after %v, want %v", took, timeout)
		}
	})
}

// TestSilentClients checks that a client that sends half a command, or no secret if one is required, is disconnected
// after ReadTimeout.
func TestSilentClients(t *testing.T) {
	const timeout = 7 * time.Second
	guarded := openUsers(t, "{shop: {sha256: ["+strings.Repeat("ab", 32)+"], may: [decide]}}")
	for _, c := range []struct {
		name, send string
		users      *users.File
	}{
		{"nothing", "", guarded},
		{"half a command", "PI", nil},
		{"no secret", "PING\r\n", guarded},
		{"a wrong secret", "AUTH shop wrong\r\n", guarded},
	} {
		inBubble(t, resp.Config{ReadTimeout: timeout, Users: c.users}, func(t *testing.T, _ *resp.Server, l *listener) {
			client, begin := l.dial(), time.Now()
			go func() {
				for time.Since(begin) < timeout { // keeps sending until the timeout
					_, _ = io.WriteString(client, c.send)
					time.Sleep(timeout / 2)
					if c.send == "PI" {
						return
					}
				}
			}()
			readToEnd(t, client)
			if took := time.Since(begin); took != timeout {
				t.Errorf("%s: closed after %v, want %v", c.name, took, timeout)
			}
		})
	}
}

// openUsers opens a users file with the given list.
func openUsers(t *testing.T, list string) *users.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(path, []byte("users: "+list), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := users.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestBoundsBeforeAuthentication (regression: bug 69): a client that has not authenticated may send commands of up to 10
// words and 16 KiB. For a longer command the server sends Redis's error and closes the connection. The usual bounds
// apply to authenticated clients and, if the file lists the user default, to all clients.
func TestBoundsBeforeAuthentication(t *testing.T) {
	shop := fmt.Sprintf("shop: {sha256: [%x], may: [decide]}", sha256.Sum256([]byte("secret")))
	long := "*2\r\n$4\r\nECHO\r\n$20000\r\n" + strings.Repeat("x", 20_000) + "\r\n"
	many := "*12\r\n$4\r\nPING\r\n" + strings.Repeat("$1\r\nx\r\n", 11)
	const auth, ok = "AUTH shop secret\r\n", "+OK\r\n"
	echoed := "$20000\r\n" + strings.Repeat("x", 20_000) + "\r\n"
	wrong := "-ERR wrong number of arguments for 'ping' command\r\n"
	for _, c := range []struct{ name, users, send, want string }{
		{"many words", shop, many, "-ERR Protocol error: unauthenticated multibulk length\r\n"},
		{"a long word", shop, "*2\r\n$4\r\nAUTH\r\n$16385\r\n", "-ERR Protocol error: unauthenticated bulk length\r\n"},
		{"long in all", shop, "*9\r\n" + strings.Repeat("$2000\r\n"+strings.Repeat("x", 2000)+"\r\n", 9), "-ERR Protocol error: unauthenticated bulk length\r\n"},
		{"a long line", shop, strings.Repeat("x", 20_000), "-ERR Protocol error: too big inline request\r\n"},
		{"a line of many words", shop, strings.Repeat("x ", 11) + "\r\n", "-ERR Protocol error: too many arguments in inline request\r\n"},
		{"authenticated in the same write", shop, auth + long + many + "QUIT\r\n", ok + echoed + wrong + ok},
		{"a wrong secret before", shop, "AUTH shop wrong\r\n" + many, "-WRONGPASS invalid username-password pair or user is disabled.\r\n-ERR Protocol error: unauthenticated multibulk length\r\n"},
		{"a user without a secret", "default: {may: [decide]}", long + many + "QUIT\r\n", echoed + wrong + ok},
	} {
		inBubble(t, resp.Config{Users: openUsers(t, "{"+c.users+"}")}, func(t *testing.T, _ *resp.Server, l *listener) {
			client := l.dial()
			go func() { _, _ = io.WriteString(client, c.send) }() // the server may close the connection first
			if got := readToEnd(t, client); got != c.want {
				t.Errorf("%s: answered %.300q, want %.300q", c.name, got, c.want)
			}
		})
	}
	inBubble(t, resp.Config{Users: openUsers(t, "{"+shop+"}")}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		exchange(t, client, auth)
		exchange(t, client, "RESET\r\n")
		if got := exchange(t, client, many); got != "-ERR Protocol error: unauthenticated multibulk length\r\n" {
			t.Errorf("after RESET: %q", got)
		}
	})
}

// TestUnusedConnection checks that, if no secret is required, a pool can keep a connection that it has not used yet.
func TestUnusedConnection(t *testing.T) {
	inBubble(t, resp.Config{ReadTimeout: time.Second}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		time.Sleep(time.Hour)
		if got := exchange(t, client, "PING\r\n"); got != "+PONG\r\n" {
			t.Errorf("after an hour: %q", got)
		}
	})
}

// TestNoHandshake checks that a client that does not complete the TLS handshake is disconnected.
func TestNoHandshake(t *testing.T) {
	address, _ := serveTLS(t, resp.Config{ReadTimeout: 50 * time.Millisecond})
	mute, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	_ = mute.SetDeadline(time.Now().Add(20 * time.Second))
	if text := readToEnd(t, mute); text != "" {
		t.Errorf("%q, want nothing", text)
	}
}

// TestClientsBeyondTheBoundDelayNoOtherClient checks that with TLS, clients beyond MaxConns that do not complete the
// handshake do not delay other clients. Clients that complete it get an error with the reason.
func TestClientsBeyondTheBoundDelayNoOtherClient(t *testing.T) {
	address, files := serveTLS(t, resp.Config{MaxConns: 1})
	dial := func() (net.Conn, error) {
		return tls.DialWithDialer(&net.Dialer{Timeout: 20 * time.Second}, "tcp", address, files.Client(t))
	}
	first, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, first, "PING\r\n")
	for range 200 { // more than maxRejecting
		mute, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer mute.Close()
	}
	told := false
	for end := time.Now().Add(20 * time.Second); !told && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if c, err := dial(); err == nil { // on error, the server has closed the connection at once
			_ = c.SetDeadline(end)
			text, _ := io.ReadAll(c)
			told = strings.Contains(string(text), "max number of clients reached")
			c.Close()
		}
	}
	if !told {
		t.Fatal("no client was told for 20 s")
	}
	if got := exchange(t, first, "PING\r\n"); got != "+PONG\r\n" {
		t.Errorf("the client that was there: %q", got)
	}
	first.Close()
}

// TestIdleTimeout checks that each command restarts the timeout.
func TestIdleTimeout(t *testing.T) {
	const timeout = 7 * time.Second
	inBubble(t, resp.Config{IdleTimeout: timeout}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		begin := time.Now()
		time.AfterFunc(timeout-1, func() { _, _ = io.WriteString(client, "PING\r\n") })
		receive(t, client)
		readToEnd(t, client)
		if took := time.Since(begin); took != 2*timeout-1 {
			t.Errorf("closed after %v, want %v", took, 2*timeout-1)
		}
	})
}

// serveTLS starts a server with TLS that runs until the test ends.
func serveTLS(t *testing.T, c resp.Config) (address string, files *tlstest.Files) {
	t.Helper()
	files = tlstest.New(t)
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := resp.New(c)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- s.Serve(tls.NewListener(plain, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}))
	}()
	t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(context.Background()), <-done); err != nil {
			t.Error(err)
		}
	})
	return plain.Addr().String(), files
}

// TestWrongSecretsCloseTheConnection checks that one connection can try ten secrets, by AUTH and HELLO (regression: bug
// 121). A right secret starts the count again (regression: bug 102).
func TestWrongSecretsCloseTheConnection(t *testing.T) {
	sum := sha256.Sum256([]byte("s"))
	wrong, right := "AUTH shop wrong\r\nHELLO 3 AUTH shop wrong\r\n", "AUTH shop s\r\n"
	for _, c := range []struct {
		input string
		want  int // wrong secrets that are answered
	}{{strings.Repeat(wrong, 100), 10}, {strings.Repeat(wrong, 4) + right + strings.Repeat(wrong, 100), 18}, {strings.Repeat(wrong, 4) + "QUIT\r\n", 8}} {
		inBubble(t, resp.Config{Users: openUsers(t, fmt.Sprintf("{shop: {sha256: [%x], may: [decide]}}", sum))}, func(t *testing.T, _ *resp.Server, l *listener) {
			client := l.dial()
			go func() { _, _ = io.WriteString(client, c.input) }() // the server may close the connection first
			if got := strings.Count(readToEnd(t, client), "-WRONGPASS"); got != c.want {
				t.Errorf("%.20q…: %d secrets were tried, want %d", c.input, got, c.want)
			}
		})
	}
}
