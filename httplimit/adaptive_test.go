package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/httplimit"
)

// TestAdaptive checks that a request gets a 503 while as many requests are in flight as the limiter allows, and that
// the next request is allowed once one of them has ended.
func TestAdaptive(t *testing.T) {
	l, err := adaptive.New(adaptive.Config{Min: 1, Max: 1, Latency: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	inside, leave := make(chan bool), make(chan bool)
	handler := httplimit.Adaptive(l)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			inside <- true
			<-leave
		}
	}))
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return w
	}
	first := make(chan int)
	go func() { first <- get("/slow").Code }()
	<-inside
	for range 100 {
		w := get("/")
		after, err := strconv.Atoi(w.Header().Get("Retry-After"))
		if w.Code != http.StatusServiceUnavailable || err != nil || after < 1 || after > 4 {
			t.Fatalf("%d, %v, %s", w.Code, w.Header(), w.Body)
		}
	}
	leave <- true
	if code := <-first; code != http.StatusOK {
		t.Error(code)
	}
	if w := get("/"); w.Code != http.StatusOK {
		t.Errorf("%d after the slow request has ended", w.Code)
	}
	if s := l.Status(); s.InFlight != 0 || s.Denied != 100 {
		t.Errorf("%+v", s)
	}
}

// TestAdaptivePanics checks that a handler that panics releases its permit.
func TestAdaptivePanics(t *testing.T) {
	l, err := adaptive.New(adaptive.Config{Min: 1, Max: 1, Latency: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	handler := httplimit.Adaptive(l)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	func() {
		defer func() { _ = recover() }()
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	}()
	if n := l.Status().InFlight; n != 0 {
		t.Errorf("%d in flight", n)
	}
}
