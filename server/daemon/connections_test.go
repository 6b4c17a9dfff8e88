package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/peers"
)

// TestConnectionsLeaveFiles checks the number of connections per front end. It leaves the process some files to open
// when all front ends have reached this number.
func TestConnectionsLeaveFiles(t *testing.T) {
	for _, c := range []struct {
		files     uint64
		frontEnds int
		want      int
	}{
		{1 << 20, 3, maxConns},
		{1<<64 - 1, 3, maxConns},
		{32768, 3, maxConns},
		{20000, 3, 6581},
		{1024, 3, 256},
		{1024, 1, 768},
		{64, 3, 16},
		{0, 3, 1},
		{1024, 0, 768},
	} {
		got := connections(c.files, c.frontEnds)
		if got != c.want {
			t.Errorf("%d files, %d front ends: %d connections, want %d", c.files, c.frontEnds, got, c.want)
		}
	}
}

// shared is a log that can be read while it is written.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestFullListener checks that connections beyond the limit wait, and are accepted when others close. The log reports
// them with one line, however many there are.
func TestFullListener(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := new(shared)
	l := bound(plain, "http", 2, peers.Rule{}, slog.New(slog.NewTextHandler(log, nil)))
	accepted, ended := make(chan net.Conn), make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	for range 5 {
		c, err := net.Dial("tcp", plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	open := []net.Conn{<-accepted, <-accepted}
	for range 3 { // one is accepted each time another closes
		select {
		case <-accepted:
			t.Fatal("a connection beyond the bound")
		case <-time.After(20 * time.Millisecond):
		}
		open[0].Close()
		open[0].Close() // frees its slot only once
		open = append(open[1:], <-accepted)
	}
	if lines := log.String(); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, `msg="http: all connections are in use, and more are waiting" connections=2`) {
		t.Errorf("the log has %q, want one line", lines)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener that is full: %v", err)
	}
	for _, c := range open {
		c.Close()
	}
}

// failing is a listener that accepts nothing.
type failing struct{ net.Listener }

func (failing) Accept() (net.Conn, error) { return nil, errors.New("too many open files") }

// TestFailingListener checks that a failed accept is logged and takes no slot.
func TestFailingListener(t *testing.T) {
	log := new(shared)
	l := bound(failing{}, "grpc", 1, peers.Rule{}, slog.New(slog.NewTextHandler(log, nil)))
	for range 3 {
		if _, err := l.Accept(); err == nil {
			t.Fatal("accepted")
		}
	}
	if lines := log.String(); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, `level=WARN msg="grpc: accept failed" error="too many open files"`) {
		t.Errorf("the log has %q, want one line", lines)
	}
}
