package proxies

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// relay forwards connections to a Headgate, and counts the requests that it gets.
type relay struct {
	net.Listener

	requests atomic.Int64
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	r := &relay{Listener: l}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(in, out)
				_ = in.Close()
			}()
			go func() {
				_, _ = io.Copy(io.MultiWriter(out, r), in)
				_ = out.Close()
			}()
		}
	}()
	return r
}

// Write counts the requests in what a proxy sends.
func (r *relay) Write(p []byte) (int, error) {
	r.requests.Add(int64(bytes.Count(p, []byte("/v1/authorize"))))
	return len(p), nil
}

// TestOneHungServer stops one of two Headgates like a machine that hangs: its connections stay open, and nothing
// answers. Every request must still be decided, and nearly all without the hung server, because each request to it
// waits. Regression: nginx sent half of the requests to it, waited for half a second, and let them pass.
// Regression: bug 166. One caller: Caddy asked the hung server until its time was over (regression: bug 265).
func TestOneHungServer(t *testing.T) {
	for i := range all {
		for _, workers := range []int{1, 4} {
			t.Run(fmt.Sprint(all[i].name, "/", workers), func(t *testing.T) { oneHungServer(t, &all[i], workers) })
		}
	}
}

func oneHungServer(t *testing.T, p *proxy, workers int) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "upstream") }))
	defer upstream.Close()
	first, second := startDecider(t, keyed, "127.0.0.1:0"), startDecider(t, keyed, "127.0.0.1:0")
	hung := newRelay(t, first.address)
	url := "http://" + p.open(t, hung.Addr().String(), strings.TrimPrefix(upstream.URL, "http://"), p.two(hung.Addr().String(), second.address)...)
	const each = 100
	send(t, http.MethodGet, url+"/api/things") // opens connections
	if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.cmd.Process.Signal(syscall.SIGCONT) }()
	before := hung.requests.Load()
	var undecided atomic.Int64
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for i := range each {
				got := send(t, []string{http.MethodGet, http.MethodPost}[i%2], url+"/api/things")
				if got.status != http.StatusOK || got.header.Get("Ratelimit") == "" {
					undecided.Add(1)
				}
			}
		})
	}
	running.Wait()
	if n := undecided.Load(); n > 0 {
		t.Errorf("%d of %d requests were not decided", n, workers*each)
	}
	// A lone caller may meet it three times in each second, however few its requests are.
	if n := hung.requests.Load() - before; workers > 1 && n > int64(workers*each/10) {
		t.Errorf("%d of %d requests waited for the hung server", n, workers*each)
	}
}
