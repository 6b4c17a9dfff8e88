package dashboard_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/dashboard"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/internal/rule"
)

// program starts a program with a page at /limits, sends requests for the program's keys, and returns the page's URL.
// The key joe has used up the policy "day".
func program(t *testing.T) string {
	t.Helper()
	page := dashboard.New()
	t.Cleanup(page.Close)
	limiter := headgate.New(headgate.WithObserver(page.Observe), headgate.WithSpace("shop"))
	t.Cleanup(func() { _ = limiter.Close() })
	day := operate.Policy(limiter, "day", rule.FixedWindow(rule.PerDay(3)))
	both := operate.Policy(limiter, "both", rule.TokenBucket(rule.PerHour(5)), rule.SlidingWindow(rule.PerHour(100)))
	page.Show(day, both)
	for range 5 {
		if _, err := day.Allow(context.Background(), "joe"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := both.AllowN(context.Background(), "<b>ann</b>", 2); err != nil {
		t.Fatal(err)
	}
	if _, err := operate.Policy(limiter, "", rule.FixedWindow(rule.PerHour(1))).Allow(context.Background(), "ad hoc"); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/limits/", http.StripPrefix("/limits", page))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/limits/"
}

func call(t *testing.T, method, url, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, string(text)
}

func TestProgramAnswers(t *testing.T) {
	page := program(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               []string
	}{
		{"GET", "", "", 200, []string{"<title>Headgate</title>"}},
		{"GET", "admin/v1/access", "", 200, []string{`"administers":false`, `"program":true`}},
		{"GET", "admin/v1/policies", "", 200, []string{`"total":2`, `"fixed-window 3/1d"`}},
		{"GET", "admin/v1/policies?name=DA&n=1", "", 200, []string{`"total":1`, `"day"`}},
		{"GET", "admin/v1/policies?from=2", "", 200, []string{`"total":2`, `"day"`}},
		{"GET", "admin/v1/policies?n=0", "", 400, []string{`"field":"n"`}},
		{"GET", "admin/v1/policies/both", "", 200, []string{`"5/1h`, `"sliding-window 100/1h`}},
		{"GET", "admin/v1/policies/none", "", 404, []string{`no policy \"none\"`}},
		{"GET", "admin/v1/keys/top", "", 200, []string{`{"policy":"day","key":"joe","count":5,`, `"(inline)"`}},
		{"GET", "admin/v1/keys/top?by=denials", "", 200, []string{`"count":2,`}},
		{"GET", "admin/v1/keys/top?by=refusals", "", 200, []string{`"by":"denials"`, `"count":2,`}},
		{"GET", "admin/v1/keys/top?by=x", "", 400, []string{`requests, denials`}},
		{"POST", "admin/v1/keys/explain", `{"key":"joe"}`, 200, []string{`"policy":"day"`, `"allowed":false`, `"remaining":0`, `"frees_at"`, `"capacity":3`}},
		{"POST", "admin/v1/keys/explain", `{"key":"<b>ann</b>","cost":1}`, 200, []string{`"policy":"both"`, `"remaining":3`, `"remaining":98`}},
		{"POST", "admin/v1/keys/explain", `{"key":"joe","policy":"day","cost":4}`, 200, []string{`"never":true`}},
		{"POST", "admin/v1/keys/explain", `{"key":"nobody"}`, 200, []string{`{"explanations":[]}`}},
		{"POST", "admin/v1/keys/explain", `{"key":"joe","policy":"none"}`, 404, []string{`no policy`}},
		{"POST", "admin/v1/keys/explain", `{"key":""}`, 400, []string{`1 to 1024`}},
		{"POST", "admin/v1/keys/explain", `{"key_base64":"?"}`, 400, []string{`base64`}},
		{"POST", "admin/v1/keys/explain", "{\"key\":\"\xff\"}", 400, []string{`accepted: UTF-8`}},
		{"POST", "admin/v1/keys/explain", `{"key":"a","cost":-1}`, 400, []string{`"field":"cost"`}},
		{"POST", "admin/v1/keys/explain", `{`, 400, []string{`body`}},
		{"POST", "admin/v1/keys/explain", `{"key":"` + strings.Repeat("k", 140_000) + `"}`, 413, []string{`128 KiB`}},
		{"POST", "admin/v1/keys/timeline", `{"key":"joe","policy":"day"}`, 200, []string{`"outcome":"denied"`, `"outcome":"allowed"`, `"frontend":"library"`}},
		{"POST", "admin/v1/keys/timeline", `{"key":"joe"}`, 200, []string{`"outcome":"denied"`}},
		{"GET", "admin/v1/changes", "", 200, []string{`{"changes":[]}`}},
		{"GET", "admin/v1/history", "", 200, []string{`{"actions":[]}`}},
		{"POST", "admin/v1/changes", `{}`, 405, nil},
		{"POST", "admin/v1/keys/reset", `{}`, 405, nil},
	} {
		status, answer := call(t, c.method, page+c.path, c.body)
		if status != c.status {
			t.Errorf("%s %s %.60s: %d, want %d: %s", c.method, c.path, c.body, status, c.status, answer)
		}
		for _, want := range c.want {
			if !strings.Contains(answer, want) {
				t.Errorf("%s %s %.60s lacks %s: %s", c.method, c.path, c.body, want, answer)
			}
		}
	}
}

// TestProgramEvents checks that the first snapshot contains the decisions by policy and by key.
func TestProgramEvents(t *testing.T) {
	page := program(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page+"admin/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() && lines.Text() != "event: snapshot" {
	}
	lines.Scan()
	var got struct {
		Allowed, Denied float64
		Policies        []struct{ Policy string }
		Modes           map[string]float64
		Denials         struct{ Keys []struct{ Key string } } `json:"top_denials"`
		Store           struct{ Away bool }
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &got); err != nil {
		t.Fatalf("%v: %s", err, lines.Text())
	}
	if got.Allowed < 4 || got.Denied < 1.5 || len(got.Policies) != 3 || got.Modes["exact"] == 0 || len(got.Denials.Keys) != 1 || got.Denials.Keys[0].Key != "joe" || got.Store.Away {
		t.Errorf("%+v", got)
	}
}

// This program serves its page at a path.
func ExampleNew() {
	page := dashboard.New()
	defer page.Close()
	limiter := headgate.New(headgate.WithObserver(page.Observe))
	defer limiter.Close()
	perUser := operate.Policy(limiter, "per-user", rule.TokenBucket(rule.PerSecond(10)))
	page.Show(perUser)
	mux := http.NewServeMux()
	mux.Handle("/limits/", http.StripPrefix("/limits", page)) // add the program's own authentication

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/limits/admin/v1/policies/per-user", http.NoBody))
	fmt.Println(strings.Contains(answer.Body.String(), `"limits":["10/s"]`))
	// Output: true
}
