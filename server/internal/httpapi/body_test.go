package httpapi_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// pieces is a body that arrives in pieces. Reading beyond the last piece fails the test.
type pieces struct {
	t    *testing.T
	left []string
}

func (p *pieces) Read(to []byte) (int, error) {
	if len(p.left) == 0 {
		p.t.Error("the body was read further")
		return 0, errors.New("too far")
	}
	n := copy(to, p.left[0])
	if p.left[0] = p.left[0][n:]; p.left[0] == "" {
		p.left = p.left[1:]
	}
	return n, nil
}

// guarded returns a handler, and the users from a file.
func guarded(t *testing.T, c service.Config) (http.Handler, *users.File) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "users.yaml")
	text := "users:\n"
	for name, rights := range map[string]string{"shop": "may: [decide], inline: false", "clerk": "may: [write]", "ops": "may: [decide, write]", "caller": "may: [decide], policies: [api]"} {
		text += fmt.Sprintf("  %s: {sha256: [%x], %s}\n", name, sha256.Sum256([]byte(name)), rights)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := users.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	policies, err := policy.Parse("p.yaml", []byte("policies: {api: 1000000/s, other: 1000000/s}"))
	if err != nil {
		t.Fatal(err)
	}
	c.Limiter, c.Policies = core.New(core.Config{}), policies.Policies
	t.Cleanup(func() { _ = c.Limiter.Close() })
	return httpapi.New(service.New(c)), f
}

// postPieces sends a body without an announced length.
func postPieces(ctx context.Context, t *testing.T, h http.Handler, path string, body ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, path, &pieces{t, body}))
	return w
}

// TestRightsBeforeTheBody (regression: bug 69): the request of a user without the right to a verb is rejected before the
// body is read, and an inline limit from a user that may not send limits is rejected at the name of the field.
func TestRightsBeforeTheBody(t *testing.T) {
	h, f := guarded(t, service.Config{Users: true})
	for _, c := range []struct {
		user, path string
		body       []string
		want       string
	}{
		{"clerk", "/v1/allow", nil, users.ErrMayNotDecide.Error()},
		{"shop", "/v1/give", nil, users.ErrMayNotWrite.Error()},
		{"shop", "/v1/reset", nil, users.ErrMayNotWrite.Error()},
		{"nobody", "/v1/allow", nil, users.ErrMayNotDecide.Error()},
		{"shop", "/v1/allow", []string{`{"key":"k", "limit"`}, users.ErrMayNotBring.Error()},
		{"shop", "/v1/allow", []string{`{"LI`, `MIT"`}, users.ErrMayNotBring.Error()},
		{"shop", "/v1/allow", []string{`{"charges":[{"policy":"api","key":"k"},{"limit"`}, users.ErrMayNotBring.Error()},
		{"shop", "/v1/allow", []string{`{"requests":[{"charges":[{"policy":"api","key":"k"},{"limit"`}, users.ErrMayNotBring.Error()},
		{"shop", "/v1/allow", []string{`{"\u006cimit"`}, users.ErrMayNotBring.Error()},
		{"shop", "/v1/allow", []string{`{"requests":[{"policy":"api","key":"k"},{"key":"limit"},{"limit"`}, users.ErrMayNotBring.Error()},
	} {
		w := postPieces(users.With(t.Context(), f.Of(c.user)), t, h, c.path, c.body...)
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %q: %d %s, want 403 %s", c.user, c.path, c.body, w.Code, w.Body, c.want)
		}
	}
	for _, short := range []string{`{"key":"k","limit":"1/s"}`, `{"charges":[{"policy":"api","key":"k"},{"key":"k","limit":{"algorithm":"fixed-window","limit":3,"window":"1s"}}]}`, `{"requests":[{"policy":"api","key":"k"},{"key":"k","limit":{"all":["1/s"]}}]}`} {
		for user, want := range map[string]int{"shop": http.StatusForbidden, "ops": http.StatusOK} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(users.With(t.Context(), f.Of(user)), http.MethodPost, "/v1/allow", strings.NewReader(short)))
			if w.Code != want {
				t.Errorf("%s sends %s: %d %s, want %d", user, short, w.Code, w.Body, want)
			}
		}
	}
	h, _ = guarded(t, service.Config{NoInline: true})
	if w := postPieces(t.Context(), t, h, "/v1/allow", `{"limit"`); w.Code != http.StatusForbidden {
		t.Errorf("without inline limits: %d %s", w.Code, w.Body)
	}
	if w := postPieces(t.Context(), t, h, "/v1/reset"); w.Code != http.StatusForbidden {
		t.Errorf("without writes: %d %s", w.Code, w.Body)
	}
}

// manyNames returns fields of an object, each preceded by a comma.
func manyNames(n int) (fields string) {
	for i := range n {
		fields += fmt.Sprintf(`,"%d":1`, i)
	}
	return fields
}

// TestBodiesAreBoundedWhileRead (regression: bug 69): the server reads only up to the first byte beyond a bound.
func TestBodiesAreBoundedWhileRead(t *testing.T) {
	h, _ := guarded(t, service.Config{})
	for _, c := range []struct {
		body []string
		want string
	}{
		{[]string{`{"requests":[{}`, strings.Repeat(`,{}`, 1000)}, `"requests: 1 to 1000 in one batch","field":"requests"`},
		{[]string{`{"charges":[{}`, strings.Repeat(`,{}`, 1000)}, `"charges: 1 to 32 in one request","field":"charges"`},
		{[]string{`{"requests":[{"charges":[{}`, strings.Repeat(`,{}`, 32)}, `"charges: 1 to 32 in one request","field":"charges"`},
		{[]string{`{"limit":{"all":[{}`, strings.Repeat(`,{}`, 32)}, "body: all has more than 32 elements"},
		{[]string{`{"requests":[{"limit":{"windows":[{}`, strings.Repeat(`,{}`, 32)}, "body: windows has more than 32 elements"},
		{[]string{strings.Repeat(`[`, 10), `[`}, "body: nested deeper than 10 levels"},
		{[]string{`{"":1`, manyNames(32)}, "body: an object has more than 32 fields"},
		{[]string{`{"key":"`, strings.Repeat("k", 65_537)}, "body: a text has more than 65536 bytes"},
		{[]string{`{"`, strings.Repeat("k", 257)}, "body: a name has more than 256 bytes"},
		{[]string{`{"cost":`, strings.Repeat("1", 65)}, "body: a number has more than 64 characters"},
	} {
		w := postPieces(t.Context(), t, h, "/v1/allow", c.body...)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%.40q: %d %s, want 400 %s", c.body, w.Code, w.Body, c.want)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/allow", strings.NewReader(`{"requests":[{"policy":"api","key":"k"},7]}`)))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "requests.1 is no JSON object; accepted: objects") {
		t.Errorf("a number among requests: %d %s", w.Code, w.Body)
	}
}
