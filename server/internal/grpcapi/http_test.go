package grpcapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate/server/internal/service"
)

// TestJSONIsReadUpToItsBounds (regression: bug 69): a body for /json is read only up to the first byte beyond a bound, or up to
// the field name of a limit that the client may not send.
func TestJSONIsReadUpToItsBounds(t *testing.T) {
	for _, c := range []struct {
		body     string
		noInline bool
		want     int
	}{
		{`{"domain":"d","descriptors":[{"entries":[],"limit"`, true, http.StatusForbidden},
		{`{"domain":"d","descriptors":[{"entries":[],"l\u0069mit"`, true, http.StatusForbidden},
		{`{"domain":"d","descriptors":[{}` + strings.Repeat(",{}", 1000), false, http.StatusBadRequest},
		{strings.Repeat("[", 9), false, http.StatusBadRequest},
	} {
		h := Paths(manyRules(t), func(context.Context) error { return nil }, c.noInline, false, func(service.Refusal) {}, http.NotFoundHandler())
		further := io.MultiReader(strings.NewReader(c.body), readerFunc(func([]byte) (int, error) {
			t.Errorf("%.60q: the body was read further", c.body)
			return 0, errors.New("too far")
		}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/json", further))
		if w.Code != c.want {
			t.Errorf("%.60q: %d %s, want %d", c.body, w.Code, w.Body, c.want)
		}
	}
}

// TestPagesCannotUseJSON checks that requests sent by a browser for a web page count no hits.
func TestPagesCannotUseJSON(t *testing.T) {
	h := Paths(manyRules(t), func(context.Context) error { return nil }, false, false, func(service.Refusal) {}, http.NotFoundHandler())
	for _, header := range []string{"Origin: http://elsewhere.example", "Sec-Fetch-Site: cross-site"} {
		name, value, _ := strings.Cut(header, ": ")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/json", strings.NewReader(`{"domain":"d","descriptors":[{"entries":[{"key":"q"}]}]}`))
		r.Header.Set(name, value)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "a web page sent this request") {
			t.Errorf("%s: %d %s", header, w.Code, w.Body)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
