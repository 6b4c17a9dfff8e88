package resp_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/resptest"
)

// array returns a command as an array, without its last CRLF.
func array(words ...string) string {
	return strings.TrimSuffix(string(resptest.AppendCommand(nil, words...)), "\r\n")
}

func TestConnectionCommands(t *testing.T) {
	converse(t, resp.Config{}, [][2]string{
		{"PING", "+PONG"},
		{"pInG hello", "$5\r\nhello"},
		{"PING a b", "-ERR wrong number of arguments for 'ping' command"},
		{array("ECHO", "a\r\nb"), "$4\r\na\r\nb"},
		{"ECHO", "-ERR wrong number of arguments for 'echo' command"},
		{"ECHO a b", "-ERR wrong number of arguments for 'echo' command"},
		{"SELECT 0", "+OK"},
		{"SELECT 1", "-ERR DB index is out of range"},
		{"SELECT x", "-ERR value is not an integer or out of range"},
		{"AUTH default any", "+OK"},
		{"AUTH bob any", "-WRONGPASS invalid username-password pair or user is disabled."},
		{"AUTH a b c", "-ERR syntax error"},
		{"AUTH any", "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"},
	})
}

func TestClientCommands(t *testing.T) {
	converse(t, resp.Config{}, [][2]string{
		{"CLIENT ID", ":1"},
		{"CLIENT GETNAME", "$-1"},
		{"CLIENT SETNAME me", "+OK"},
		{"CLIENT GETNAME", "$2\r\nme"},
		{array("CLIENT", "SETNAME", "a b"), "-ERR Client names cannot contain spaces, newlines or special characters."},
		{array("client", "setname", "\x7f"), "-ERR Client names cannot contain spaces, newlines or special characters."},
		{"CLIENT GETNAME", "$2\r\nme"},
		{"CLIENT SETINFO LIB-NAME go", "+OK"},
		{"CLIENT SETINFO lib-ver 1.2", "+OK"},
		{array("CLIENT", "SETINFO", "LIB-VER", "1\n2"), "-ERR lib-ver cannot contain spaces, newlines or special characters."},
		{"CLIENT SETINFO NOSUCH x", "-ERR Unrecognized option 'NOSUCH'"},
		{"CLIENT INFO", "-ERR unknown subcommand 'INFO'"},
		{"CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command"},
		{"CLIENT", "-ERR wrong number of arguments for 'client' command"},
		{"CLIENT TRACKING on", "-ERR unknown subcommand 'TRACKING'"},
	})
}

func TestUnknownCommands(t *testing.T) {
	x := strings.Repeat("x", 200)
	converse(t, resp.Config{}, [][2]string{
		{"GET k v", "-ERR unknown command 'GET'"},
		{array(""), "-ERR unknown command ''"},
		{array("a\r\n\x1f\x7f\xff ~b"), "-ERR unknown command 'a????? ~b'"},
		{x, "-ERR unknown command '" + x[:128] + "'"},
		{"ping" + strings.Repeat(" ", 3) + "still", "$5\r\nstill"},
	})
}

func TestHelloChoosesTheProtocol(t *testing.T) {
	fields := "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.2.0\r\n$5\r\nproto\r\n:PROTO\r\n" +
		"$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0"
	two := "*14\r\n" + strings.ReplaceAll(fields, "PROTO", "2")
	three := "%7\r\n" + strings.ReplaceAll(fields, "PROTO", "3")
	converse(t, resp.Config{}, [][2]string{
		{"HELLO", two},
		{"HELLO 2", two},
		{"HELLO 3 AUTH default any SETNAME me", three},
		{"HELLO", three},
		{"CLIENT GETNAME", "$2\r\nme"},
		{"HELLO 2 SETNAME you NOSUCH", "-ERR Syntax error in HELLO option 'NOSUCH'"},
		{"HELLO 2 SETNAME", "-ERR Syntax error in HELLO option 'SETNAME'"},
		{"HELLO 2 AUTH default", "-ERR Syntax error in HELLO option 'AUTH'"},
		{"HELLO 2 AUTH bob any", "-WRONGPASS invalid username-password pair or user is disabled."},
		{array("HELLO", "2", "SETNAME", "a b"), "-ERR Client names cannot contain spaces, newlines or special characters."},
		{"HELLO 1", "-NOPROTO unsupported protocol version"},
		{"HELLO 4", "-NOPROTO unsupported protocol version"},
		{"HELLO x", "-ERR Protocol version is not an integer or out of range"},
		{"CLIENT GETNAME", "$2\r\nme"}, // the failed commands changed nothing
		{"HELLO", three},
		{"RESET", "+RESET"},
		{"HELLO", two},
	})
}

// TestQuitEndsTheConnection checks that the connection is closed after the reply, and that later commands are not
// answered.
func TestQuitEndsTheConnection(t *testing.T) {
	a := &fakeDecider{}
	inBubble(t, resp.Config{Decisions: a.decisions(), Decide: a.decide}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		if got, want := exchange(t, client, "ask a\r\nQUIT\r\nask b\r\n"), "+a\r\n+OK\r\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if rest := readToEnd(t, client); rest != "" || len(a.calls) != 1 {
			t.Errorf("after QUIT: %q, and Decide was called with %q", rest, a.calls)
		}
	})
}

// TestHTTPRequestsAreRejected checks that the connection is closed before the body of an HTTP request is read,
// because a web page can make a browser send commands in the body.
func TestHTTPRequestsAreRejected(t *testing.T) {
	for _, request := range []string{"POST / HTTP/1.1\r\n", "hOsT: x\r\n", "MULTI\r\nPOST / HTTP/1.1\r\n"} {
		a := &fakeDecider{}
		inBubble(t, resp.Config{Decisions: a.decisions(), Decide: a.decide}, func(t *testing.T, _ *resp.Server, l *listener) {
			client := l.dial()
			if got := exchange(t, client, "ask a\r\n"+request+"ask b\r\n"); !strings.HasPrefix(got, "+a\r\n") {
				t.Errorf("before %q: %q", request, got)
			}
			if rest := readToEnd(t, client); rest != "" || len(a.calls) != 1 {
				t.Errorf("after %q: %q, and Decide was called with %q", request, rest, a.calls)
			}
		})
	}
}

// TestHTTPRequestsDoNotFloodTheLog checks that one line per second is logged, however many requests web pages send.
func TestHTTPRequestsDoNotFloodTheLog(t *testing.T) {
	var log bytes.Buffer
	inBubble(t, resp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(t *testing.T, _ *resp.Server, l *listener) {
		for range 100 {
			client := l.dial()
			_, _ = io.WriteString(client, "POST / HTTP/1.1\r\n")
			readToEnd(t, client)
			time.Sleep(30 * time.Millisecond)
		}
	})
	if lines := strings.Count(log.String(), "HTTP request rejected"); lines != 3 {
		t.Errorf("%d lines in three seconds, want 3:\n%s", lines, &log)
	}
}
