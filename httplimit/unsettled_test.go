package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// While the charges of requests in flight may still be given back, a denial's wait is a second. It was a quarter of an
// hour for five of ten clients that signed in at once with the right password (regression: bug 121).
func TestUnsettledChargesShortenTheWait(t *testing.T) {
	l := limiter(t)
	limit, key, final := headgate.FixedWindow{Rate: headgate.Per(5, 15*time.Minute)}, httplimit.ByHeader("Account"), httplimit.WithFinalCost(httplimit.OnlyFailures)
	one, first := l.Policy("one", limit), l.Policy("first", headgate.FixedWindow{Rate: headgate.PerHour(1000)})
	t.Run("New", func(t *testing.T) { shortens(t, httplimit.New(one, key, final)) })
	t.Run("AllOf", func(t *testing.T) {
		items := []httplimit.Item{{Policy: first, Key: httplimit.ByIP()}, {Policy: l.Policy("second", limit), Key: key}}
		shortens(t, httplimit.By(httplimit.AllOf(l, items...), final))
	})
}

func shortens(t *testing.T, middleware func(http.Handler) http.Handler) {
	status, arrived, answer := http.StatusOK, make(chan bool), make(chan bool)
	server := httptest.NewServer(middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- true
		<-answer
		w.WriteHeader(status)
	})))
	defer server.Close()
	send := func() (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		r.Header.Set("Account", "ann")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		_ = response.Body.Close()
		return response.StatusCode, response.Header.Get("Retry-After")
	}
	five := func(then func()) {
		done := make(chan bool)
		for range 5 {
			go func() { send(); done <- true }()
			<-arrived
		}
		then()
		for range 5 {
			answer <- true
			<-done
		}
	}
	five(func() {
		for range 5 {
			if status, wait := send(); status != http.StatusTooManyRequests || wait != "1" {
				t.Errorf("beside five in flight: %d, retry after %s", status, wait)
			}
		}
	})
	status = http.StatusUnauthorized
	five(func() {}) // none of the right passwords counted
	if status, wait := send(); status != http.StatusTooManyRequests || wait != "900" {
		t.Errorf("after five wrong passwords: %d, retry after %s", status, wait)
	}
}
