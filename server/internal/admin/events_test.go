package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// event is one server-sent event.
type event struct{ name, data string }

// follower reads a stream of events.
type follower struct {
	t       *testing.T
	answer  *http.Response
	scanner *bufio.Scanner
}

// serve serves a world on loopback.
func (w *world) serve(t *testing.T) *httptest.Server {
	server := httptest.NewUnstartedServer(w.handler)
	server.Config.ReadTimeout, server.Config.WriteTimeout = time.Second, time.Second // shorter than the stream
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func follow(t *testing.T, url, token string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/admin/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	f := &follower{t: t, answer: answer, scanner: bufio.NewScanner(answer.Body)}
	f.scanner.Buffer(nil, 1<<20)
	return f
}

// next returns the next event, or ok = false at the end of the stream.
func (f *follower) next() (e event, ok bool) {
	for f.scanner.Scan() {
		line := f.scanner.Text()
		if name, found := strings.CutPrefix(line, "event: "); found {
			e.name = name
		}
		if data, found := strings.CutPrefix(line, "data: "); found {
			e.data = data
		}
		if line == "" {
			return e, true
		}
	}
	return e, false
}

// TestEvents checks that a stream begins with the past seconds, and that each snapshot matches its description and
// contains the decisions of the previous second. The timeouts of other calls do not end the stream, but the end of
// the feed does.
func TestEvents(t *testing.T) {
	w, s := newWorld(t, ""), loadSpec(t)
	server := w.serve(t)
	schema, err := s.compiler.Compile(specURL + "#/components/schemas/snapshot")
	if err != nil {
		t.Fatal(err)
	}
	first, second := follow(t, server.URL, ""), follow(t, server.URL, "")
	if e, ok := first.next(); !ok || e.name != "history" {
		t.Fatalf("the first event: %+v", e)
	}
	second.next()
	allowed, denied := 0.0, 0.0
	for turn := range 3 {
		w.take("day", "joe", 5)
		e, ok := first.next()
		if !ok || e.name != "snapshot" {
			t.Fatalf("event %d: %+v", turn, e)
		}
		if other, _ := second.next(); other != e {
			t.Errorf("two streams differ:\n%s\n%s", e.data, other.data)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(e.data))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%v\n%s", err, e.data)
		}
		var got struct {
			Allowed float64
			Denied  float64
			Top     struct{ Keys []struct{ Key string } } `json:"top_denials"`
		}
		if err := json.Unmarshal([]byte(e.data), &got); err != nil {
			t.Fatal(err)
		}
		allowed, denied = allowed+got.Allowed, denied+got.Denied
		if len(got.Top.Keys) != 1 || got.Top.Keys[0].Key != "joe" {
			t.Errorf("the key that was denied is not there within a second: %s", e.data)
		}
	}
	if allowed < 2 || allowed > 4 || denied < 10 || denied > 14 { // ideally 3 and 12, but the seconds are not exact
		t.Errorf("%v allowed and %v denied; 3 and 12 were", allowed, denied)
	}
	w.feed.Close()
	if e, ok := first.next(); ok {
		t.Errorf("the stream goes on after the end of the feed: %+v", e)
	}
}

// TestStreamsAreBounded checks that the 17th stream is rejected until another one has ended.
func TestStreamsAreBounded(t *testing.T) {
	w := newWorld(t, "")
	server := w.serve(t)
	var all []*follower
	for range 16 {
		f := follow(t, server.URL, "")
		if f.answer.StatusCode != http.StatusOK {
			t.Fatal(f.answer.Status)
		}
		all = append(all, f)
	}
	if f := follow(t, server.URL, ""); f.answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("stream 17: %s", f.answer.Status)
	}
	_ = all[0].answer.Body.Close()
	for deadline := time.Now().Add(5 * time.Second); ; {
		if follow(t, server.URL, "").answer.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no stream is free after one has ended")
		}
	}
}

// TestStreamEndsWithItsToken checks that removing a token from the file ends its streams.
func TestStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	tokens := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("read token-that-may-look\n")
	w := newWorld(t, tokens)
	f := follow(t, w.serve(t).URL, "token-that-may-look")
	if f.answer.StatusCode != http.StatusOK {
		t.Fatal(f.answer.Status)
	}
	write("another-token-0123456789")
	if _, err := w.users.Reload(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; {
		if _, ok := f.next(); !ok {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("the stream goes on")
		}
	}
}
