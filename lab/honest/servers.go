package honest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/programs"
	"github.com/headgate/headgate/lab/testbed"
)

// group is a number of servers that share a store and its policies.
type group struct {
	http, admin, logs []string
}

// start starts n servers and waits until they are up.
func start(t *testing.T, n int, store, policies string) *group {
	t.Helper()
	g, dir := &group{}, t.TempDir()
	config := filepath.Join(dir, "policies.yaml")
	if err := os.WriteFile(config, []byte(policies), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		web, admin := address(t), address(t)
		log, err := os.Create(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(context.Background(), programs.Headgate(t), "serve", "--config", config, "--store", store, "--http", web,
			"--admin", admin, "--resp", address(t), "--drain", "0s", "--expect-processes", strconv.Itoa(n))
		c.Stdout, c.Stderr, c.SysProcAttr = log, log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait()
			_ = log.Close()
		})
		g.http, g.admin, g.logs = append(g.http, web), append(g.admin, admin), append(g.logs, log.Name())
	}
	testbed.Until(t, "all servers are up", func() bool {
		return !slices.ContainsFunc(g.admin, func(admin string) bool { return metric(admin, "headgate_store_up") != 1 })
	})
	return g
}

func address(t *testing.T) string { return "127.0.0.1:" + strconv.Itoa(programs.FreePort(t)) }

// metric returns the value of a metric without labels, or −1.
func metric(admin, name string) float64 {
	r, err := http.Get("http://" + admin + "/metrics") //nolint:noctx // a short request to this machine
	if err != nil {
		return -1
	}
	defer func() { _ = r.Body.Close() }()
	text, _ := io.ReadAll(r.Body)
	for line := range bytes.Lines(text) {
		if value, ok := strings.CutPrefix(string(line), name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err == nil {
				return n
			}
		}
	}
	return -1
}

var message = regexp.MustCompile(`level=(?:WARN|ERROR|INFO) msg="?([^"=]*?)"? \w+=`)

// said returns the messages that the first server logged, each once.
func (g *group) said() (all []string) {
	text, _ := os.ReadFile(g.logs[0])
	for _, m := range message.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(m[1], "store") && !slices.Contains(all, m[1]) {
			all = append(all, m[1])
		}
	}
	return all
}

// switched is an address that leads to one of several servers, like a Kubernetes Service. Connections stay where they
// were made.
type switched struct {
	listener net.Listener
	mu       sync.Mutex
	to       string
}

func newSwitch(t *testing.T, to string) *switched {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed with the test
	if err != nil {
		t.Fatal(err)
	}
	s := &switched{listener: l, to: to}
	var running sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	ctx := t.Context()
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			to := s.to
			s.mu.Unlock()
			server, err := net.DialTimeout("tcp", to, time.Second)
			if err != nil {
				_ = client.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
			for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
				running.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_, _ = client.Close(), server.Close()
				})
			}
		}
	})
	return s
}

func (s *switched) turn(to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = to
}
