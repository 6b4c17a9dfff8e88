package httpapi

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// TestPoliciesOfAUser checks that a user gets a list of exactly the policies that it may use.
func TestPoliciesOfAUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(path, []byte("users: {default: {may: [decide], policies: [shop-*]}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := users.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	config, err := policy.Parse("x.yaml", []byte("policies: {shop-a: 1/s, shop-b: 1/s, other: 1/s}"))
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{})
	defer limiter.Close()
	h := New(service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true}))
	for _, c := range []struct {
		guarded bool
		want    int
	}{{false, 3}, {true, 2}} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/v1/policies", nil)
		if c.guarded {
			r = r.WithContext(users.With(r.Context(), file.Unknown()))
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if body := w.Body.String(); strings.Count(body, `"name"`) != c.want || strings.Contains(body, "other") == c.guarded {
			t.Errorf("%t: %s", c.guarded, body)
		}
	}
}
