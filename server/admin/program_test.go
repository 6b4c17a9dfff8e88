package admin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/dashboard"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/internal/rule"
)

// TestProgramIsDescribed checks that a program that serves the page gives the answers that admin.yaml describes for a
// server, so that the same page works with both.
func TestProgramIsDescribed(t *testing.T) {
	s, page := loadSpec(t), dashboard.New()
	t.Cleanup(page.Close)
	limiter := headgate.New(headgate.WithObserver(page.Observe))
	t.Cleanup(func() { _ = limiter.Close() })
	day := operate.Policy(limiter, "day", rule.FixedWindow(rule.PerDay(3)))
	both := operate.Policy(limiter, "both", rule.TokenBucket(rule.PerHour(5)), rule.Concurrency(1))
	page.Show(day, both, operate.Policy(limiter, "api", rule.NoLimit()))
	for range 5 {
		if _, err := day.Allow(context.Background(), "joe"); err != nil {
			t.Fatal(err)
		}
	}
	answered := 0
	s.operations(func(method, path string, about map[string]any) {
		if about["x-administers"] == true || strings.HasSuffix(path, "events") {
			return
		}
		for _, body := range bodies(about) {
			r := httptest.NewRequest(method, strings.Replace(path, "{name}", "day", 1), strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			answer := httptest.NewRecorder()
			page.ServeHTTP(answer, r)
			if answer.Code == http.StatusNotFound || answer.Code == http.StatusMethodNotAllowed {
				continue // a program does not offer this call
			}
			answered++
			s.check(t, method, path, path, answer)
		}
	})
	if answered < 12 {
		t.Errorf("%d calls were answered; a program has at least 12 of the examples", answered)
	}
}
