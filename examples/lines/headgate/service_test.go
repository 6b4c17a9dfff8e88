package service

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHandler(t *testing.T) {
	h := Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for i, c := range []struct {
		address, user string
		want          int
	}{
		{"192.0.2.1", "alice", 200},
		{"192.0.2.1", "alice", 200},
		{"192.0.2.1", "alice", 200},
		{"192.0.2.1", "alice", 429},
		{"192.0.2.1", "bob", 200},
		{"192.0.2.1", "carol", 429},
		{"192.0.2.2", "carol", 200},
	} {
		r, w := httptest.NewRequest(http.MethodGet, "/", http.NoBody), httptest.NewRecorder()
		r.RemoteAddr = c.address + ":40000"
		r.Header.Set("X-User", c.user)
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("request %d of %s from %s: %d, want %d", i, c.user, c.address, w.Code, c.want)
		}
	}
}
