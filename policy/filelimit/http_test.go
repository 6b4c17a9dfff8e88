package filelimit_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

// TestMiddlewareByRoutes checks that the middleware applies a file's routes.
func TestMiddlewareByRoutes(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(`
policies: {api: {algorithm: fixed-window, limit: 1, window: 1d}}
routes: [{match: {path: "/api/**"}, key: [{header: X-User}], empty_key_status: 401, policies: [api]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	defer limiter.Close()
	var decider httplimit.Decider = filelimit.New(config, limiter)
	h := httplimit.By(decider)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		path, user string
		want       int
		headers    bool
	}{{"/api/x", "7", 200, true}, {"/api/y", "7", 429, true}, {"/api/y", "8", 200, true}, {"/other", "7", 200, false}, {"/api/x", "", 401, false}} {
		r := httptest.NewRequest(http.MethodGet, c.path, http.NoBody)
		if c.user != "" {
			r.Header.Set("X-User", c.user)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		limited := w.Header().Get("Ratelimit") != ""
		if w.Code != c.want || limited != c.headers {
			t.Errorf("%s of %q: %d %v, want %d", c.path, c.user, w.Code, w.Header(), c.want)
		}
		if c.want == 401 && !strings.Contains(w.Body.String(), "a part of its key: header X-User") {
			t.Errorf("%s", w.Body)
		}
	}
}
