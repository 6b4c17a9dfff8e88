package httpclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/httpclient"
)

// start is the time at which a synctest bubble begins.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A denial without Retry-After blocks the client until the reset that its headers state, in every form of the headers.
// Before, the client sent a request each second, and used up its retries (regression: bug 127).
func TestDenialStatesItsReset(t *testing.T) {
	in := func(wait time.Duration) string { return fmt.Sprint(start.Add(wait).Unix()) }
	for name, headers := range map[string]func(wait time.Duration) []string{
		"String": func(wait time.Duration) []string {
			return []string{"RateLimit", fmt.Sprintf(`"p";r=0;t=%d`, wait/time.Second)}
		},
		"Token": func(wait time.Duration) []string {
			return []string{"RateLimit", fmt.Sprintf(`p;r=0;t=%d`, wait/time.Second)}
		},
		"two limits": func(wait time.Duration) []string {
			return []string{"RateLimit", fmt.Sprintf(`"second";r=5;t=1, "hour";r=0;t=%d`, wait/time.Second)}
		},
		"Dictionary": func(wait time.Duration) []string {
			return []string{"RateLimit", fmt.Sprintf("limit=9, remaining=0, reset=%d", wait/time.Second)}
		},
		"RateLimit-Reset": func(wait time.Duration) []string {
			return []string{"RateLimit-Remaining", "0", "RateLimit-Reset", fmt.Sprint(int(wait / time.Second))}
		},
		"X-RateLimit-Reset": func(wait time.Duration) []string {
			return []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", fmt.Sprint(int(wait / time.Second))}
		},
		"an instant": func(wait time.Duration) []string {
			return []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", in(wait)}
		},
		"milliseconds": func(wait time.Duration) []string {
			return []string{"X-RateLimit-Remaining", "0.0", "X-RateLimit-Reset", in(wait) + "000"}
		},
		"no remaining": func(wait time.Duration) []string { return []string{"X-RateLimit-Reset", in(wait)} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { deniedUntil(t, headers(20*time.Second), 20*time.Second) })
			synctest.Test(t, func(t *testing.T) { deniedForAnHour(t, headers(time.Hour)) })
		})
	}
}

// deniedUntil checks that a request is retried once after a denial with the given headers, after the given wait.
func deniedUntil(t *testing.T, headers []string, wait time.Duration) {
	server := &script{steps: []func(http.ResponseWriter, *http.Request){answering(429, headers...), answering(200)}}
	client := &http.Client{Transport: httpclient.New(&handlerTransport{handler: server})}
	code, err := get(t.Context(), client)
	if code != 200 || err != nil || server.n != 2 {
		t.Fatalf("%d %v after %d requests", code, err, server.n)
	}
	if waited := server.at[1].Sub(start); waited < wait || waited > wait+time.Second {
		t.Errorf("sent again after %s, want %s", waited, wait)
	}
}

// deniedForAnHour checks that a denial until in an hour is the only request, whatever is sent in the next 12 seconds.
func deniedForAnHour(t *testing.T, headers []string) {
	server := &script{steps: []func(http.ResponseWriter, *http.Request){answering(429, headers...)}}
	client := &http.Client{Transport: httpclient.New(&handlerTransport{handler: server})}
	if code, err := get(t.Context(), client); code != 429 || err != nil {
		t.Fatal(code, err)
	}
	for range 12 {
		time.Sleep(time.Second)
		if _, err := get(t.Context(), client); !errors.Is(err, httpclient.ErrLimited) {
			t.Fatal(err)
		}
	}
	if server.n != 1 {
		t.Errorf("%d requests in 12 seconds", server.n)
	}
}

// If a denial states no limit without room, the client cannot know when the next request fits, and tries in a second.
func TestDenialWithoutAReset(t *testing.T) {
	for name, headers := range map[string][]string{
		"no headers":        nil,
		"room":              {"RateLimit", `"hour";r=4000;t=3600`},
		"no reset":          {"RateLimit", `"hour";r=0`},
		"reset in 0":        {"RateLimit", `"hour";r=0;t=0`},
		"reset in the past": {"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "900000000"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { deniedUntil(t, headers, time.Second) })
		})
	}
}
