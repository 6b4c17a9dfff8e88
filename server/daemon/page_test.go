package daemon_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/server/daemon"
)

// TestPageOfServer checks that the admin listener serves the page, and that an event stream lasts until the server
// shuts down, but does not delay the shutdown.
func TestPageOfServer(t *testing.T) {
	d := start(t, daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0", Admin: daemon.AdminConfig{Address: "127.0.0.1:0"}, Version: "v7"})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx, ctx) }()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	get := func(path string) *http.Response {
		t.Helper()
		answer, err := client.Get("http://" + d.AdminAddr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, answer.Status)
		}
		return answer
	}
	page := get("/")
	defer page.Body.Close()
	if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("the page's policy of content is %q", policy)
	}
	events := get("/admin/v1/events")
	defer events.Body.Close()
	lines := bufio.NewScanner(events.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && lines.Text() != "event: snapshot" {
	}
	if !lines.Scan() || !strings.Contains(lines.Text(), `"store":{"address":"memory"`) {
		t.Errorf("the first snapshot: %.200s", lines.Text())
	}
	began := time.Now()
	stop()
	for lines.Scan() { // until the server closes the stream
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the server ended after %s", took)
	}
}
