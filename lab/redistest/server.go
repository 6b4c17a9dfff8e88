// Package redistest starts real Redis and Valkey servers on loopback for tests, and stops them when the test ends. It
// can start a single server, a primary with replicas, servers with Sentinels, a Cluster, and a server with TLS.
package redistest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/internal/tlstest"
	"github.com/headgate/headgate/lab/programs"
)

// Flavor is a kind of server.
type Flavor string

// The flavors.
const (
	Redis  Flavor = "redis"
	Valkey Flavor = "valkey"
)

// patience is the longest time that this package waits for a server's state before it fails the test.
const patience = 30 * time.Second

// Need skips or fails the test if the flavor's server is not installed: see [programs.Tool].
func Need(t testing.TB, flavor Flavor) {
	t.Helper()
	programs.Tool(t, string(flavor)+"-server")
}

// Server is a server that runs until the test ends.
type Server struct {
	t      testing.TB
	flavor Flavor
	// Port is the server's port on 127.0.0.1. Unix is the path of its socket.
	Port int
	Unix string
	dir  string
	args []string
	env  []string // added to the test's environment
	run  *exec.Cmd
	done chan struct{}
	// admin sends commands to the server. files is set if the server accepts only TLS connections.
	admin *redis.Client
	files *tlstest.Files
	steps string // the file with the clock's offset, or "" if the clock cannot be stepped
}

// serial makes the servers' directories unique.
var serial atomic.Int64

// Standalone starts a single server. Each config is a line in its configuration, such as "maxmemory 2mb".
func Standalone(t testing.TB, flavor Flavor, config ...string) *Server {
	t.Helper()
	Need(t, flavor)
	s := prepare(t, flavor, config...)
	s.Start()
	return s
}

func prepare(t testing.TB, flavor Flavor, config ...string) *Server {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strconv.FormatInt(serial.Add(1), 10))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// A socket's path must be short, but t.TempDir may be long.
	socket, err := os.MkdirTemp("", "hg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(socket) })
	s := &Server{t: t, flavor: flavor, Port: programs.FreePort(t), Unix: filepath.Join(socket, "s"), dir: dir}
	s.args = []string{"port", strconv.Itoa(s.Port), "bind", "127.0.0.1", "unixsocket", s.Unix, "dir", dir, "save", "", "appendonly", "no", "enable-debug-command", "yes"}
	for _, line := range config {
		name, value, _ := strings.Cut(line, " ")
		s.args = append(s.args, name, value)
	}
	return s
}

// Start starts a stopped server with its data on disk, and waits until it answers. A server that is still loading its
// data counts as answering.
func (s *Server) Start() {
	s.t.Helper()
	var lines strings.Builder
	for i := 0; i < len(s.args); i += 2 {
		value := s.args[i+1]
		if value == "" {
			value = `""`
		}
		lines.WriteString(s.args[i] + " " + value + "\n")
	}
	file := filepath.Join(s.dir, "server.conf")
	if _, err := os.Stat(file); err != nil {
		if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	s.launch(file)
	s.connect()
	s.wait("to answer", func() bool {
		err := s.admin.Ping(context.Background()).Err()
		return err == nil || redis.HasErrorPrefix(err, "LOADING") || redis.HasErrorPrefix(err, "NOAUTH") || redis.HasErrorPrefix(err, "MASTERDOWN")
	})
}

func (s *Server) launch(file string, more ...string) {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.run = exec.CommandContext(context.Background(), string(s.flavor)+"-server", append([]string{file}, more...)...)
	s.run.Stdout, s.run.Stderr, s.run.Dir = log, log, s.dir
	s.run.Env = append(os.Environ(), s.env...)
	// The server dies with the test process, however that process ends.
	s.run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.run.Start(); err != nil {
		s.t.Fatal(err)
	}
	run, done := s.run, make(chan struct{})
	s.done = done
	go func() {
		_ = run.Wait()
		close(done)
	}()
	s.t.Cleanup(s.Kill)
}

func (s *Server) connect() { s.admin = redis.NewClient(s.adminOptions()) }

func (s *Server) adminOptions() *redis.Options {
	o := &redis.Options{Addr: s.Addr(), DialTimeout: time.Second, MaxRetries: -1, PoolSize: 2, Protocol: 2, DisableIdentity: true}
	if s.files != nil {
		o.TLSConfig = s.files.Client(s.t)
	}
	for i := 0; i < len(s.args); i += 2 {
		if s.args[i] == "requirepass" {
			o.Password = s.args[i+1]
		}
	}
	return o
}

// wait polls until ready returns true. If it takes too long, wait fails the test with the server's log.
func (s *Server) wait(what string, ready func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ready() {
			return
		}
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	s.t.Fatalf("waited %s for %s-server on port %d %s; the end of its log:\n%s", patience, s.flavor, s.Port, what, log[max(0, len(log)-2000):])
}

// Addr returns the server's address.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.Port) }

// Do sends a command to the server.
func (s *Server) Do(args ...any) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.admin.Do(ctx, args...).Result()
}

// MustDo sends a command that must succeed.
func (s *Server) MustDo(args ...any) any {
	s.t.Helper()
	answer, err := s.Do(args...)
	if err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
	return answer
}

// Text sends a command that must succeed, and returns its reply formatted as text.
func (s *Server) Text(args ...any) string {
	s.t.Helper()
	return fmt.Sprint(s.MustDo(args...))
}

// Kill kills the server, as if its machine failed.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop shuts the server down gracefully.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Wipe deletes the data of a stopped server from disk.
func (s *Server) Wipe() {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.dir, "appendonlydir")); err != nil {
		s.t.Fatal(err)
	}
}

// Keep copies a running server's data for Restore. The server must have appendonly set.
func (s *Server) Keep() {
	s.t.Helper()
	s.copyData("appendonlydir", "kept")
}

// Restore replaces a stopped server's data with the copy made by Keep.
func (s *Server) Restore() {
	s.t.Helper()
	s.Wipe()
	s.copyData("kept", "appendonlydir")
}

func (s *Server) copyData(from, to string) {
	s.t.Helper()
	to = filepath.Join(s.dir, to)
	if err := os.RemoveAll(to); err != nil {
		s.t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(filepath.Join(s.dir, from))); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) end(signal syscall.Signal) {
	if s.done == nil {
		return
	}
	if s.admin != nil {
		_ = s.admin.Close()
	}
	_ = s.run.Process.Signal(signal)
	_ = s.run.Process.Signal(syscall.SIGCONT)
	select {
	case <-s.done:
	case <-time.After(patience):
		_ = s.run.Process.Kill()
		<-s.done
	}
	s.done = nil
}

// Pause suspends the server, as if its machine hung. Resume continues it.
func (s *Server) Pause() { _ = s.run.Process.Signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (s *Server) Resume() { _ = s.run.Process.Signal(syscall.SIGCONT) }

// Restart stops the server and starts it again on the same port.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	s.Start()
}
