package resp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/resptest"
)

// listen serves on a free TCP port until the test ends.
func listen(t *testing.T, cfg resp.Config) net.Addr {
	t.Helper()
	s, err := resp.New(cfg)
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
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr()
}

// TestHostileInputOverTCP sends hostile input without any bytes after the error. Therefore the error reply arrives
// before the connection is closed.
func TestHostileInputOverTCP(t *testing.T) {
	address := listen(t, resp.Config{})
	for _, c := range hostile {
		client, err := net.Dial("tcp", address.String())
		if err != nil {
			t.Fatal(err)
		}
		if err := client.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(client, c[0]); err != nil {
			t.Errorf("sending %.40q: %v", c[0], err)
		}
		if got, want := readToEnd(t, client), "-ERR Protocol error: "+c[1]+"\r\n"; got != want {
			t.Errorf("%.40q is answered %q, want %q", c[0], got, want)
		}
		client.Close()
	}
}

// TestLargeWordGetsItsAnswer checks that a client that sends all of a word that is too long before it reads gets the
// error, and no reset connection (regression: bug 184).
func TestLargeWordGetsItsAnswer(t *testing.T) {
	client, err := net.Dial("tcp", listen(t, resp.Config{}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const size = 20 << 20
	if _, err := fmt.Fprintf(client, "*2\r\n$4\r\nPING\r\n$%d\r\n%s\r\n", size, strings.Repeat("x", size)); err != nil {
		t.Fatal(err)
	}
	if got, want := readToEnd(t, client), "-ERR Protocol error: invalid bulk length\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// tool returns the path of one of Redis's programs. If the program is missing, it skips the test with a message on
// standard error, or fails the test if HEADGATE_NEED_SERVERS is set, as in CI.
func tool(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	text := fmt.Sprintf("*** %s is not installed: NOT TESTED (make setup installs it on Debian) ***", program)
	if os.Getenv("HEADGATE_NEED_SERVERS") != "" {
		t.Fatal(text)
	}
	fmt.Fprintf(os.Stderr, "\n%s: %s\n\n", t.Name(), text)
	t.Skip(text)
	return ""
}

// TestMissingTool checks that if redis-cli is missing, its tests are skipped, or fail if HEADGATE_NEED_SERVERS is set.
func TestMissingTool(t *testing.T) {
	for need, want := range map[string]string{"": "--- SKIP: TestRedisCLI", "1": "--- FAIL: TestRedisCLI"} {
		again := exec.CommandContext(context.Background(), os.Args[0], "-test.run=^TestRedisCLI$", "-test.v")
		again.Env = append(os.Environ(), "PATH="+t.TempDir(), "HEADGATE_NEED_SERVERS="+need)
		out, err := again.CombinedOutput()
		if (err != nil) != (need != "") || !strings.Contains(string(out), want) {
			t.Errorf("HEADGATE_NEED_SERVERS=%q: %v, want %s in\n%s", need, err, want, out)
		}
	}
}

// run runs one of Redis's programs against a server.
func run(t *testing.T, program, input string, args ...string) string {
	t.Helper()
	path := tool(t, program)
	_, port, _ := net.SplitHostPort(listen(t, resp.Config{Decisions: (&fakeDecider{}).decisions(), Decide: (&fakeDecider{}).decide}).String())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, path, append([]string{"-p", port}, args...)...)
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}

func TestRedisCLI(t *testing.T) {
	for _, c := range []struct{ input, args, want string }{
		{"", "PING", "PONG\n"},
		{"", "-3 CLIENT GETNAME", "\n"},

		{"PING\nask a b\nMULTI\nask c\nPING x\nEXEC\nNOSUCH\n", "", "PONG\na+b\nOK\nQUEUED\nQUEUED\nc\nx\nERR unknown command 'NOSUCH'\n\n"},
	} {
		if got := run(t, "redis-cli", c.input, strings.Fields(c.args)...); got != c.want {
			t.Errorf("redis-cli %s: %q, want %q", c.args, got, c.want)
		}
	}
}

// TestRedisCLIPipe sends commands without waiting for replies. redis-cli counts the replies.
func TestRedisCLIPipe(t *testing.T) {
	var input []byte
	for range 5000 {
		input = resptest.AppendCommand(input, "PING")
		input = resptest.AppendCommand(input, "ask", "a", "b")
	}
	if got := run(t, "redis-cli", string(input), "--pipe"); !strings.Contains(got, "errors: 0, replies: 10000") {
		t.Errorf("redis-cli --pipe: %q", got)
	}
}

func TestRedisBenchmark(t *testing.T) {
	for _, args := range []string{"-t ping", "ask key:__rand_int__"} {
		got := run(t, "redis-benchmark", "", strings.Fields("-q -n 20000 -c 8 -P 32 -r 1000 "+args)...)
		if !strings.Contains(got, "requests per second") || strings.Contains(got, "rror") {
			t.Errorf("redis-benchmark %s: %q", args, got)
		}
	}
}
