// Package programs runs external programs for tests: the server itself, proxies and clients.
package programs

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Tool returns the path of a program installed by make setup. If the program is missing, the test is skipped with a
// message. If HEADGATE_NEED_SERVERS is set, as in CI, the test fails instead, because a skipped test would go
// unnoticed.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, name)
	}
	return path
}

// Python returns the path of a Python where a module is installed. It tries the first python3 in PATH, and then
// Debian's Python, because other Pythons cannot use Debian's packages. If the module is missing from both, Python skips
// or fails the test like [Tool].
func Python(t testing.TB, module string) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(name); err == nil && exec.CommandContext(t.Context(), path, "-c", "import "+module).Run() == nil {
			return path
		}
	}
	missing(t, "Python with the module "+module)
	return ""
}

func missing(t testing.TB, name string) {
	t.Helper()
	text := "*** " + name + " is not installed: NOT TESTED (make setup installs it on Debian) ***"
	if os.Getenv("HEADGATE_NEED_SERVERS") != "" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// Headgate returns the path of the headgate command: HEADGATE_BINARY, or a binary that is built once per process.
func Headgate(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// build writes a separate binary for each test process. Several test processes run at the same time, and none may
// replace a binary that another one runs.
var build = sync.OnceValues(func() (string, error) {
	if built := os.Getenv("HEADGATE_BINARY"); built != "" {
		return built, nil
	}
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "../..")
	path := filepath.Join(root, "bin/test/headgate-"+filepath.Base(os.Args[0]))
	c := exec.CommandContext(context.Background(), "go", "build", "-o", path, "./cmd/headgate")
	c.Dir = filepath.Join(root, "server")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// Serve starts the command with the given arguments, which must begin with serve, and returns the addresses of its
// listeners by name. At the end of the test, the server stops. It must drain without an error.
func Serve(t testing.TB, listeners int, args ...string) map[string]string {
	t.Helper()
	c := exec.CommandContext(context.Background(), Headgate(t), args...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log := start(t, c, func(err error) {
		if err != nil {
			t.Errorf("%s: %v", c.Path, err)
		}
	})
	addresses := map[string]string{}
	for lines := bufio.NewScanner(out); len(addresses) < listeners && lines.Scan(); {
		var logged struct{ Listener, Address string } // with --log-format json
		if json.Unmarshal(lines.Bytes(), &logged) == nil {
			addresses[logged.Listener] = logged.Address
		} else if name, address, ok := strings.Cut(lines.Text(), " listening on "); ok {
			addresses[name] = address
		}
	}
	if len(addresses) < listeners {
		t.Fatalf("it listens on %v: %s", addresses, log)
	}
	return addresses
}

// Run starts a program, and stops it at the end of the test. The program may exit with any status. Run returns the text
// that the program writes to standard error.
func Run(t testing.TB, c *exec.Cmd) *strings.Builder {
	t.Helper()
	return start(t, c, func(error) {})
}

// start starts a program and returns its standard error. At the end of the test, the program receives SIGTERM, and ended
// is called with the error of its exit. If the test has failed, standard error is logged. The program does not outlive
// this process.
func start(t testing.TB, c *exec.Cmd, ended func(error)) *strings.Builder {
	t.Helper()
	log := new(strings.Builder)
	c.Stderr = log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		ended(c.Wait())
		if t.Failed() {
			t.Logf("%s: %s", c.Path, log)
		}
	})
	return log
}

// FreePort returns a port on 127.0.0.1 that no process listens on. The port is outside the range that Linux uses for
// outgoing connections, because an outgoing connection could take it before the server listens. Until the test ends, a
// file reserves the port, so that other tests do not use it.
func FreePort(t testing.TB) int {
	t.Helper()
	const low, high, reservedFor = 10000, 32768, 2 * time.Hour
	reserved := filepath.Join(os.TempDir(), "headgate-ports")
	if err := os.MkdirAll(reserved, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		port := low + rand.IntN(high-low) //nolint:gosec // no secret
		file := filepath.Join(reserved, strconv.Itoa(port))
		if f, err := os.Stat(file); err == nil && time.Since(f.ModTime()) > reservedFor {
			_ = os.Remove(file) // left by a test that was killed
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			continue
		}
		_ = f.Close()
		t.Cleanup(func() { _ = os.Remove(file) })
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}
