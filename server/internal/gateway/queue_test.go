package gateway_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/gateway"
)

const paced = `
policies: {paced: {algorithm: pacer, rate: 20/s, max_queue: 50}, slow: {algorithm: pacer, rate: 1/s, max_wait: 1h}, day: {` + hour + `}}
routes:
  - {match: {path: /paced}, key: [{const: all}], policies: [paced]}
  - {match: {path: /slow}, key: [{const: all}], policies: [slow, day]}
`

// TestPacerDelaysInsteadOfDenying checks that requests reach the upstream one after another, at the pacer's rate.
func TestPacerDelaysInsteadOfDenying(t *testing.T) {
	var mu sync.Mutex
	var arrived []time.Time
	g := start(t, paced, to(t, upstream(t, func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		arrived = append(arrived, time.Now())
	})))
	began := time.Now()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if got := g.send("GET", "/paced"); got.status != 200 || got.header.Get("Ratelimit") == "" {
				t.Errorf("%+v", got)
			}
		})
	}
	all.Wait()
	if len(arrived) != 10 || arrived[9].Sub(began) < 445*time.Millisecond {
		t.Errorf("%d requests in %v, 50 ms apart", len(arrived), arrived[len(arrived)-1].Sub(began))
	}
	if s := g.Stats(); s.Waited != 9 || s.Waiting != 0 || s.InFlight != 0 {
		t.Errorf("%+v", s)
	}
}

// TestDisconnectGivesPlaceBack checks that if a client disconnects while its request waits, the slot is free again and
// the units of the request's other limits are returned (regression: bug 178).
func TestDisconnectGivesPlaceBack(t *testing.T) {
	g := start(t, paced, to(t, upstream(t, func(http.ResponseWriter, *http.Request) {})))
	if got := g.send("GET", "/slow"); got.status != 200 {
		t.Fatalf("%+v", got)
	}
	for _, body := range []io.Reader{nil, strings.NewReader("small"), io.MultiReader(strings.NewReader("of unknown length"))} {
		ctx, leave := context.WithCancel(context.Background())
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.address+"/slow", body)
		left := make(chan error, 1)
		go func() { left <- g.do(request).err }()
		until(t, "a request waits", func() bool { return g.Stats().Waiting == 1 })
		if got := g.remaining("day", "all"); got != 1 {
			t.Errorf("while one waits %d are left, want 1", got)
		}
		leave()
		if err := <-left; err == nil {
			t.Error("the client has an answer")
		}
		until(t, "none waits", func() bool { return g.Stats().InFlight == 0 })
		if got := g.remaining("day", "all"); got != 2 {
			t.Errorf("after it has left %d are left, want 2", got)
		}
		if d := g.peek("slow", "all"); d.Delay > time.Second {
			t.Errorf("the next one waits %v, want up to 1s", d.Delay)
		}
	}
	if s := g.Stats(); s.Left != 3 || s.Undone != 3 || s.UndoFailed != 0 {
		t.Errorf("%+v", s)
	}
}

// TestWaitingBodyArrives checks that the upstream gets the whole body of a request that has waited: one that is read
// while it waits, one that is too large for that, and one whose end the client sends after the slot.
func TestWaitingBodyArrives(t *testing.T) {
	arrived := make(chan string, 1)
	g := start(t, paced, to(t, upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		first := make([]byte, 1)
		_, _ = io.ReadFull(r.Body, first)
		arrived <- string(first)
		rest, _ := io.ReadAll(r.Body)
		arrived <- string(first) + string(rest)
	})))
	for _, size := range []int{1, 1 << 10, 16 << 10, 16<<10 + 1, 1 << 20} {
		for _, known := range []bool{true, false} {
			want := strings.Repeat("b", size)
			var body io.Reader = strings.NewReader(want)
			if !known {
				body = io.MultiReader(body)
			}
			request, _ := http.NewRequest(http.MethodPost, "http://"+g.address+"/paced", body)
			ended := make(chan answer, 1)
			go func() { ended <- g.do(request) }()
			if <-arrived; <-arrived != want {
				t.Errorf("a body of %d bytes (%t) arrived otherwise", size, known)
			}
			if got := <-ended; got.status != 200 {
				t.Errorf("%d bytes (%t): %+v", size, known, got)
			}
		}
	}
	reader, writer := io.Pipe()
	request, _ := http.NewRequest(http.MethodPost, "http://"+g.address+"/paced", reader)
	ended := make(chan answer, 1)
	go func() { ended <- g.do(request) }()
	_, _ = writer.Write([]byte("first"))
	if got := <-arrived; got != "f" {
		t.Errorf("%q", got)
	}
	_, _ = writer.Write([]byte(" last"))
	writer.Close()
	if got := <-arrived; got != "first last" {
		t.Errorf("%q", got)
	}
	if got := <-ended; got.status != 200 {
		t.Errorf("%+v", got)
	}
	if s := g.Stats(); s.Waited < 5 {
		t.Errorf("few requests waited: %+v", s)
	}
}

// TestQueueIsBounded checks that requests beyond the queue get a 503, and that their units are returned.
func TestQueueIsBounded(t *testing.T) {
	set := to(t, upstream(t, func(http.ResponseWriter, *http.Request) {}))
	g := start(t, paced, func(c *gateway.Config) { set(c); c.MaxWaiting = 0 })
	if got := g.send("GET", "/slow"); got.status != 200 {
		t.Fatalf("%+v", got)
	}
	for range 3 {
		got := g.send("GET", "/slow")
		if after, _ := strconv.Atoi(got.header.Get("Retry-After")); got.status != 503 || after != 1 || !strings.Contains(got.body, "as many requests wait for their turn as can wait; accepted: up to 0") {
			t.Errorf("%+v", got)
		}
	}
	if g.remaining("day", "all") != 2 || g.Stats().QueueFull != 3 || g.Stats().Undone != 3 {
		t.Errorf("%d left, %+v", g.remaining("day", "all"), g.Stats())
	}
}

// TestCloseEndsWaiting checks that Close answers the waiting requests and returns their units.
func TestCloseEndsWaiting(t *testing.T) {
	g := start(t, paced, to(t, upstream(t, func(http.ResponseWriter, *http.Request) {})))
	g.send("GET", "/slow")
	ended := make(chan answer, 1)
	go func() { ended <- g.send("GET", "/slow") }()
	until(t, "a request waits", func() bool { return g.Stats().Waiting == 1 })
	g.Close()
	if got := <-ended; got.status != 503 || g.remaining("day", "all") != 2 {
		t.Errorf("%+v, %d left", got, g.remaining("day", "all"))
	}
}

// TestRequestsAtOnceAreBounded checks that a request beyond the bound gets a 503 and is not charged, and that a request
// passes again once another has ended.
func TestRequestsAtOnceAreBounded(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	g := start(t, all, to(t, upstream(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})))
	g.SetMostInFlight(1)
	first := make(chan answer, 1)
	go func() { first <- g.send("GET", "/") }()
	<-arrived
	if got := g.send("GET", "/"); got.status != 503 || !strings.Contains(got.body, "as many requests at once") || g.remaining("all", "all") != 2 {
		t.Errorf("%+v", got)
	}
	close(release)
	if got := <-first; got.status != 200 {
		t.Errorf("%+v", got)
	}
	until(t, "the first one has ended", func() bool { return g.Stats().InFlight == 0 })
	go func() { <-arrived }()
	if got := g.send("GET", "/"); got.status != 200 || g.Stats().Full != 1 {
		t.Errorf("%+v %+v", got, g.Stats())
	}
}
