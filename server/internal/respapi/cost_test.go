package respapi_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/costtest"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/resptest"
	"github.com/headgate/headgate/server/internal/respapi"
	"github.com/headgate/headgate/server/internal/service"
)

// ending is a command whose reply marks the end of the replies to an input.
const ending = "ECHO -end-\r\n"

// untilEnding reads until the reply to ending, or until the end of the connection. In the second case, last is true. It
// does not read line by line, because large replies would then cost this client more than the server.
func untilEnding(from *bufio.Reader) (last bool) {
	for end := ""; ; {
		if _, err := from.Peek(1); err != nil {
			return true
		}
		some, _ := from.Peek(from.Buffered())
		if end += string(some[max(0, len(some)-len(answered)):]); strings.HasSuffix(end, answered) {
			_, _ = from.Discard(len(some))
			return false
		}
		end = end[max(0, len(end)-len(answered)):]
		_, _ = from.Discard(len(some))
	}
}

// answered is the end of the reply to ending.
const answered = "-end-\r\n"

// TestCostOfCommands (regression: bug 69): a byte of a command costs at most costtest.Most times as much as a byte of a
// plain take.
func TestCostOfCommands(t *testing.T) {
	limiter := core.New(core.Config{})
	t.Cleanup(func() { _ = limiter.Close() })
	config, err := policy.Parse("p.yaml", []byte("policies: {api: 1000000000/s}"))
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(service.Config{Limiter: limiter, Policies: config.Policies})
	raw := costtest.Raw(t, serving(t, s), untilEnding)
	command := func(words ...string) string { return string(resptest.AppendCommand(nil, words...)) }
	input := func(name, commands string) costtest.Input { return raw(name, commands+ending) }
	many := func(name, one string) costtest.Input {
		return input("many of "+name, strings.Repeat(one, max(1, 100_000/len(one))))
	}
	words := func(word string, n int) []string { return strings.Split(strings.Repeat(word+" ", n-1)+word, " ") }
	costtest.Compare(t, input("plain", command("HEADGATE.ALLOW", "api", "customer-17")),
		many("takes", command("HEADGATE.ALLOW", "api", "a")),
		many("takes inline", "HEADGATE.ALLOW api a\r\n"),
		many("charges", command(append([]string{"HEADGATE.ALLOWALL"}, strings.Fields(strings.Repeat("api a 1 ", 32))...)...)),
		many("unknown policies of charges", command(append([]string{"HEADGATE.ALLOWALL"}, strings.Fields(strings.Repeat("x a 1 ", 32))...)...)),
		many("unknown policies", "HEADGATE.ALLOW x a\r\n"),
		many("throttles", "CL.THROTTLE a 1 1 1\r\n"),
		many("limits that are no numbers", "CL.THROTTLE a x x x\r\n"),
		many("errors", "x\r\n"),
		many("empty lines", "\r\n"),
		many("empty commands", "*0\r\n"),
		many("pings", "PING\r\n"),
		many("INFO", "INFO\r\n"),
		many("COMMAND", "COMMAND\r\n"),
		many("CLIENT ID", "CLIENT ID\r\n"),
		many("HELLO", "HELLO\r\n"),
		many("transactions", "MULTI\r\nEXEC\r\n"),
		input("a full transaction", "MULTI\r\n"+strings.Repeat("PING\r\n", 1024)+"EXEC\r\n"),
		input("a transaction of COMMAND", "MULTI\r\n"+strings.Repeat("COMMAND\r\n", 1024)+"EXEC\r\n"),
		input("1024 keys", command(append([]string{"DEL"}, words("a", 1023)...)...)),
		input("1024 empty words", command(append([]string{"DEL"}, make([]string, 1023)...)...)),
		input("INFO of 1024 sections", command(append([]string{"INFO"}, words("a", 1023)...)...)),
		input("a long key", command("HEADGATE.ALLOW", "api", strings.Repeat("k", 60_000))),
		input("a long name", command(strings.Repeat("k", 60_000))),
		input("a long line", strings.Repeat("x", 60_000)+"\r\n"),
		input("a line of words", strings.Repeat("x ", 30_000)+"\r\n"),
		input("a line of quotes", "ECHO "+strings.Repeat("a", 60_000)+"\"\r\n"),
	)
	// The server closes the connection after each of these inputs, so each includes the cost of a new connection. The
	// plain take does too.
	closing := func(name, commands string) costtest.Input { return raw(name, commands) }
	costtest.Compare(t, closing("plain, on a new connection", command("HEADGATE.ALLOW", "api", "customer-17")+"QUIT\r\n"),
		closing("a long length", "*1\r\n$"+strings.Repeat("1", 40)),
		closing("a length that never ends", "*"+strings.Repeat("1", 70_000)),
		closing("a large array", "*1048577"+strings.Repeat("0", 20)+"\r\n"),
		closing("a large word", "*1\r\n$65537"+strings.Repeat("0", 20)+"\r\n"),
		closing("a request of HTTP", "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 10000\r\n\r\n"),
		closing("no RESP", strings.Repeat("\xff", 70_000)),
	)
}

// serving starts a server and returns its address.
func serving(t *testing.T, s *service.Service) string {
	t.Helper()
	server, err := resp.New(resp.Config{Decisions: respapi.Commands(), Decide: s.For(service.RESP)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Shutdown(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}
