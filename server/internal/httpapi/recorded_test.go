package httpapi_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
)

const recordedPolicies = `
policies:
  api:    {algorithm: token-bucket, rate: 100/60s, burst: 50, classes: [{name: user, leaves: 0%}, {name: batch, leaves: 10%}], settle_within: 10m}
  win:    {algorithm: fixed-window, limit: 40, window: 90s}
  two:    {all: [api, win]}
  jobs:   {algorithm: concurrency, limit: 3}
  pace:   {algorithm: pacer, rate: 10/s, max_wait: 100s}
  vendor: {algorithm: adaptive-rate, rate: 100/s, min: 10, max: 1000}
  never:  {deny: true}
  free:   {unlimited: true}
  trial:  {algorithm: fixed-window, limit: 1, window: 90s, shadow: true}
  choice: {first: [{name: a, algorithm: fixed-window, limit: 3, window: 90s}, {name: b, algorithm: fixed-window, limit: 100, window: 90s}]}
overrides: [{policy: win, key: vip, unlimited: true}]
`

// TestRecordedAnswers sends the requests in testdata/recorded.txt to a server on one clock, and compares the answers
// with those recorded below each request. $R is the reservation and $I the id of the latest answer that has one. With
// -update, the test records the answers.
func TestRecordedAnswers(t *testing.T) {
	const path = "testdata/recorded.txt"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config, err := policy.Parse("test.yaml", []byte(recordedPolicies))
	if err != nil {
		t.Fatal(err)
	}
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	secret := func(context.Context) ([]byte, error) { return []byte("of the test"), nil }
	handler := httpapi.New(service.New(service.Config{Limiter: core.New(core.Config{Store: store}), Policies: config.Policies, AllowWrites: true, Secret: secret}))
	var last struct{ Reservation, ID string }
	var got strings.Builder
	for line := range strings.Lines(string(file)) {
		verb, body, isRequest := strings.Cut(strings.TrimSpace(line), " ")
		if line[0] == '\t' || !isRequest {
			continue
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/"+verb, strings.NewReader(strings.NewReplacer("$R", last.Reservation, "$I", last.ID).Replace(body)))
		r.Header.Set(requestid.Header, "r")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		answer := w.Body.String()
		if err := json.Unmarshal([]byte(answer), &last); err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"$R": last.Reservation, "$I": last.ID} {
			if len(value) > 8 {
				answer = strings.ReplaceAll(answer, value, name)
			}
		}
		fmt.Fprintf(&got, "%s\t%d %s%s", line, w.Code, rateHeaders(w.Header()), answer)
		clock.Advance(1234567 * time.Microsecond)
	}
	if flag.Lookup("update").Value.String() == "true" { // the flag of openapi_requests_test.go
		if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(string(file), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(want) || line != want[i] {
			t.Errorf("line %d of %s:\n got %s\nwant %s", i+1, path, line, want[min(i, len(want)-1)])
		}
	}
}

// rateHeaders returns the rate-limit headers and Retry-After of an answer as text.
func rateHeaders(h http.Header) string {
	text := ""
	for _, name := range []string{"Ratelimit-Policy", "Ratelimit", "Retry-After"} {
		if value := h.Get(name); value != "" {
			text += name + ": " + value + " "
		}
	}
	return text
}
