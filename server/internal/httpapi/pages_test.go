package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/service"
)

// TestReboundPages checks that a page whose name was rebound to this server, and which sends no Origin with a GET,
// cannot read the policies (regression: bug 101).
func TestReboundPages(t *testing.T) {
	limiter := core.New(core.Config{})
	defer limiter.Close()
	handler := httpapi.New(service.New(service.Config{Limiter: limiter}), "limits.example.com")
	for host, want := range map[string]int{
		"evil.example:8080": 403, "127.0.0.1.evil.example": 403, "192.0.2.1": 403, "": 403,
		"127.0.0.1:8080": 200, "localhost": 200, "[::1]:8080": 200, "limits.example.com:8080": 200, "LIMITS.example.com": 200,
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/policies", http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d %s", host, w.Code, w.Body)
		}
	}
}

// TestPagesAreRefused checks that requests sent by a browser for a web page get a 403 and spend nothing. If they did
// not, any page that a user of the network has opened could spend the units of other callers.
func TestPagesAreRefused(t *testing.T) {
	limiter := core.New(core.Config{})
	defer limiter.Close()
	handler := httpapi.New(service.New(service.Config{Limiter: limiter}))
	send := func(method, path, header, value string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(`{"key":"k","limit":"2/1h"}`))
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for _, header := range []string{"Origin: http://elsewhere.example", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"} {
		name, value, _ := strings.Cut(header, ": ")
		for _, path := range []string{"POST /v1/allow", "GET /v1/policies"} {
			method, path, _ := strings.Cut(path, " ")
			if w := send(method, path, name, value); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "a web page sent this request") {
				t.Errorf("%s, %s: %d %s", path, header, w.Code, w.Body)
			}
		}
	}
	for _, header := range []string{"Sec-Fetch-Site: none", "Sec-Fetch-Site: same-origin"} {
		name, value, _ := strings.Cut(header, ": ")
		if w := send(http.MethodPost, "/v1/allow", name, value); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", header, w.Code, w.Body)
		}
	}
}
