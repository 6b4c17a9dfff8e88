package admin_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadOnlyTokens checks that a read-only token cannot get profiles or make the calls marked x-administers in the
// API specification, and that the attempt changes nothing. All other calls work.
func TestReadOnlyTokens(t *testing.T) {
	const administers, reads = "token-that-administers", "token-that-may-look"
	tokens := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokens, []byte(administers+"\nread "+reads+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, marked := loadSpec(t), 0
	s.operations(func(method, path string, about map[string]any) {
		w := newWorld(t, tokens)
		w.take("day", "joe", 5)
		call := strings.Replace(path, "{name}", "api", 1)
		if strings.HasSuffix(path, "events") {
			call += "?n=1"
		}
		for _, body := range bodies(about) {
			want := http.StatusOK
			if about["x-administers"] == true {
				want = http.StatusForbidden
				marked++
			}
			answer := w.call(method, call, body, "Authorization", "Bearer "+reads)
			if answer.Code != want {
				t.Errorf("%s %s %s: %d, want %d: %s", method, call, body, answer.Code, want, answer.Body)
			}
			if want == http.StatusForbidden && (!strings.Contains(answer.Body.String(), "may only read") || !strings.Contains(w.logged(), "may only read")) {
				t.Errorf("%s %s: the refusal does not say why, or is not logged: %s", method, call, answer.Body)
			}
		}
		var answer struct{ Actions []any }
		if err := json.Unmarshal(w.call("GET", "/admin/v1/history", "", "Authorization", "Bearer "+administers).Body.Bytes(), &answer); err != nil || len(answer.Actions) > 0 {
			t.Errorf("%s %s has changed something: %v %v", method, call, answer.Actions, err)
		}
		if method != http.MethodGet && about["x-administers"] != true && !strings.Contains(path, "try") && !strings.Contains(path, "explain") && !strings.Contains(path, "timeline") {
			t.Errorf("%s %s is not marked as changing something", method, path)
		}
	})
	if marked < 6 {
		t.Errorf("%d calls were refused; at least 6 change something", marked)
	}
	w := newWorld(t, tokens)
	for token, want := range map[string]int{administers: http.StatusOK, reads: http.StatusForbidden} {
		if got := w.call("GET", "/debug/pprof/", "", "Authorization", "Bearer "+token); got.Code != want {
			t.Errorf("profiles with %s: %d, want %d", token, got.Code, want)
		}
	}
}

// TestAccess checks that the page receives the rights of its token.
func TestAccess(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokens, []byte("read token-that-may-look\ntoken-that-administers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	guarded, open := newWorld(t, tokens), newWorld(t, "")
	for _, c := range []struct {
		w      *world
		header string
		want   string
	}{
		{guarded, "Bearer token-that-may-look", `{"administers":false,"hashed_keys":false,"version":"v1"}`},
		{guarded, "Bearer token-that-administers", `{"administers":true,"hashed_keys":false,"version":"v1"}`},
		{open, "", `{"administers":true,"hashed_keys":false,"version":"v1"}`},
	} {
		if got := strings.TrimSpace(c.w.call("GET", "/admin/v1/access", "", "Authorization", c.header).Body.String()); got != c.want {
			t.Errorf("%s: %s, want %s", c.header, got, c.want)
		}
	}
}

// TestPageNeedsNoToken checks that requests with the server's own host name get the page's files without a token, even
// from a link on another site, and that API calls need a token.
func TestPageNeedsNoToken(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokens, []byte("token-that-administers"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, tokens)
	for _, c := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{"GET", "/", nil, http.StatusOK},
		{"HEAD", "/", nil, http.StatusOK},
		{"GET", "/", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusOK},
		{"GET", "/assets/none", nil, http.StatusNotFound},
		{"GET", "/assets/../admin/v1/policies", nil, http.StatusNotFound},
		{"GET", "/", []string{"Host", "evil.example"}, http.StatusForbidden},
		{"POST", "/", nil, http.StatusUnauthorized},
		{"GET", "/admin/v1/access", nil, http.StatusUnauthorized},
		{"GET", "/admin/v1/events", nil, http.StatusUnauthorized},
		{"GET", "/admin/v1/events", []string{"Authorization", "Bearer token-that-administers", "Origin", "http://evil.example"}, http.StatusForbidden},
	} {
		if got := w.call(c.method, c.path, "", c.headers...); got.Code != c.want {
			t.Errorf("%s %s %q: %d, want %d", c.method, c.path, c.headers, got.Code, c.want)
		}
	}
}

// TestWhoCalled checks that changes, the history and the log name the token that made a call, besides the author that
// the caller wrote, which can be anybody's name (regression: bug 103).
func TestWhoCalled(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokens, []byte("token-that-administers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, tokens)
	call := func(method, path, body string) string {
		t.Helper()
		answer := w.call(method, path, body, "Authorization", "Bearer token-that-administers")
		if answer.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
		}
		return answer.Body.String()
	}
	const asked = `{"policy":"day","fields":{"limit":5},"author":"eve"}`
	if got := call("POST", "/admin/v1/changes", asked); !strings.Contains(got, `"author":"eve","user":"operate"`) {
		t.Errorf("the change: %s", got)
	}
	if answer := w.call("POST", "/admin/v1/changes", `{"policy":"day","fields":{"limit":5},"author":"eve","user":"ann"}`, "Authorization", "Bearer token-that-administers"); answer.Code != http.StatusBadRequest {
		t.Errorf("a caller that names its user: %d %s", answer.Code, answer.Body)
	}
	if got := call("GET", "/admin/v1/changes", ""); !strings.Contains(got, `"author":"eve","user":"operate"`) {
		t.Errorf("the list of changes: %s", got)
	}
	call("POST", "/admin/v1/changes/clear", `{"policy":"day","author":"eve"}`)
	call("POST", "/admin/v1/keys/give", `{"policy":"day","key":"joe","author":"eve"}`)
	call("POST", "/admin/v1/keys/reset", `{"policy":"day","key":"joe","author":"eve"}`)
	call("POST", "/admin/v1/reload", "{}")
	if got := call("GET", "/admin/v1/history", ""); strings.Count(got, `"user":"operate"`) != 5 || strings.Count(got, `"author":"eve"`) != 4 {
		t.Errorf("the history: %s", got)
	}
	if got := w.logged(); strings.Count(got, "author=eve user=operate") != 4 || !strings.Contains(got, `action=reload author="" user=operate`) {
		t.Errorf("the log: %s", got)
	}
}
