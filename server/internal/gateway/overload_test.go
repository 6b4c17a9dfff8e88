package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/policy"
)

// TestOverloadedUpstream checks that requests beyond an upstream's limit get a 503 and are not charged, and that a
// request delayed by a pacer does not count as in flight at the upstream.
func TestOverloadedUpstream(t *testing.T) {
	inside, leave := make(chan bool), make(chan bool)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			inside <- true
			<-leave
		}
		_, _ = io.WriteString(w, "done")
	}))
	t.Cleanup(upstream.Close)
	g := start(t, `
policies: {user: {`+hour+`}, pace: {algorithm: pacer, rate: 10/s, max_wait: 1s}}
upstreams: {one: {url: "`+upstream.URL+`", in_flight: {min: 1, max: 1, latency: 1s}}, two: "`+upstream.URL+`"}
routes:
  - {match: {path: /other}, key: [{const: all}], policies: [user], upstream: two}
  - {match: {path: /paced}, key: [{const: all}], policies: [pace], upstream: one}
  - {key: [{const: all}], policies: [user], upstream: one}
`, nil)
	first := make(chan int)
	go func() { first <- g.send("GET", "/slow").status }()
	<-inside
	for range 5 {
		got := g.send("GET", "/")
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || got.header.Get("Content-Type") != "application/problem+json" {
			t.Fatalf("%+v", got)
		}
	}
	if left := g.remaining("user", "all"); left != 2 {
		t.Errorf("%d left of 3: refused requests were charged", left)
	}
	if got := g.send("GET", "/other"); got.status != http.StatusOK {
		t.Errorf("another upstream: %+v", got)
	}
	leave <- true
	if status := <-first; status != http.StatusOK {
		t.Error(status)
	}
	for range 3 {
		if got := g.send("GET", "/paced"); got.status != http.StatusOK {
			t.Errorf("one after another: %+v", got)
		}
	}
	for _, u := range g.Stats().Upstreams {
		if u.Name == "one" && (u.Limit != 1 || u.Overloaded != 5) {
			t.Errorf("%+v", u)
		}
	}
}

// TestInFlightDryRun checks that in a dry run requests above the limit pass and are counted, and that the count survives
// the end of the limit.
func TestInFlightDryRun(t *testing.T) {
	inside, leave := make(chan bool), make(chan bool)
	url := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			inside <- true
			<-leave
		}
	})
	file := func(bound string) string {
		return `
policies: {user: {limit: 100, window: 1h, algorithm: fixed-window}}
upstreams: {one: {url: "` + url + `"` + bound + `}}
routes: [{key: [{const: all}], policies: [user], upstream: one}]
`
	}
	g := start(t, file(", in_flight: {min: 1, max: 1, latency: 1s, dry_run: true}"), nil)
	first := make(chan int)
	go func() { first <- g.send("GET", "/slow").status }()
	<-inside
	for range 5 {
		if got := g.send("GET", "/"); got.status != http.StatusOK {
			t.Fatalf("%+v", got)
		}
	}
	leave <- true
	if status := <-first; status != http.StatusOK {
		t.Error(status)
	}
	if u := g.Stats().Upstreams[0]; u.Limit != 1 || u.Overloaded != 5 {
		t.Errorf("%+v", u)
	}
	config, err := policy.Parse("test.yaml", []byte(file("")))
	if err != nil {
		t.Fatal(err)
	}
	g.Keep(config.Routes.Routes())
	if u := g.Stats().Upstreams[0]; u.Limit != 0 || u.Overloaded != 5 {
		t.Errorf("without a limit: %+v", u)
	}
}

// TestInFlightChanges checks that requests in flight when an upstream's limit changes also count under the new limit,
// even while requests under the previous file still arrive.
func TestInFlightChanges(t *testing.T) {
	inside, leave := make(chan bool), make(chan bool)
	url := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			inside <- true
			<-leave
		}
	})
	file := func(most string) string {
		return `
policies: {user: {algorithm: token-bucket, rate: 1000/h}}
upstreams: {one: {url: "` + url + `", in_flight: {min: 1, max: ` + most + `, latency: 1s}}}
routes: [{key: [{const: all}], policies: [user], upstream: one}]
`
	}
	g := start(t, file("2"), nil)
	ended := make(chan int)
	slow := func() {
		go func() { ended <- g.send("GET", "/slow").status }()
		select {
		case <-inside:
		case status := <-ended:
			t.Fatalf("a slow request is answered %d", status)
		}
	}
	slow()
	slow()
	for _, most := range []string{"2", "3"} {
		config, err := policy.Parse("test.yaml", []byte(file(most)))
		if err != nil {
			t.Fatal(err)
		}
		g.Keep(config.Routes.Routes())
		if got := g.send("GET", "/"); (got.status == http.StatusOK) != (most == "3") {
			t.Errorf("two are in flight of %s: a request is answered %d", most, got.status)
		}
	}
	slow()
	if got := g.send("GET", "/"); got.status != http.StatusServiceUnavailable {
		t.Errorf("three are in flight of 3: a request is answered %d", got.status)
	}
	for range 3 {
		leave <- true
		if status := <-ended; status != http.StatusOK {
			t.Error(status)
		}
	}
}

// slowReader is a body that arrives slowly.
type slowReader struct{ pause time.Duration }

func (r *slowReader) Read([]byte) (int, error) {
	time.Sleep(r.pause)
	return 0, io.EOF
}

// TestSlowBodiesAreNotOverload checks that clients that send their bodies slowly do not lower the limit of an
// upstream.
func TestSlowBodiesAreNotOverload(t *testing.T) {
	url := upstream(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	g := start(t, `
policies: {user: {algorithm: token-bucket, rate: 100000/s}}
upstreams: {one: {url: "`+url+`", in_flight: {min: 1, max: 20, latency: 500ms}}}
routes: [{key: [{const: all}], policies: [user], upstream: one}]
`, nil)
	for range 6 {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				answer, err := g.client.Post("http://"+g.address+"/", "text/plain", &slowReader{600 * time.Millisecond})
				if err != nil {
					t.Error(err)
					return
				}
				answer.Body.Close()
			})
		}
		all.Wait()
	}
	if u := g.Stats().Upstreams[0]; u.Limit != 20 {
		t.Errorf("%+v, want a limit of 20", u)
	}
}
