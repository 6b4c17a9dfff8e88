package admin_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/server/internal/admin"
)

// TestGuard checks tokens, the replacement of a token, and the Host and Origin headers. Each rejection is logged.
func TestGuard(t *testing.T) {
	const first, second = "first-token-0123456789", "second-token-0123456789"
	tokens := filepath.Join(t.TempDir(), "token")
	var w *world
	write := func(text string) (err error) {
		t.Helper()
		if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if w != nil {
			_, err = w.users.Reload()
		}
		return err
	}
	change := func(text string) {
		t.Helper()
		if err := write(text); err != nil {
			t.Fatal(err)
		}
	}
	change(first)
	w = newWorld(t, tokens, "gate.example")
	const forbidden, unauthorized = http.StatusForbidden, http.StatusUnauthorized
	check := func(status int, headers ...string) {
		t.Helper()
		for _, path := range []string{"/metrics", "/admin/v1/policies", "/debug/pprof/cmdline", "/debug/pprof/"} {
			before := strings.Count(w.logged(), "admin call refused")
			got := w.call("GET", path, "", headers...)
			if path == "/debug/pprof/cmdline" && status == http.StatusOK {
				continue // the process arguments are not a profile
			}
			if got.Code != status {
				t.Errorf("%s %q: %d, want %d", path, headers, got.Code, status)
			}
			if logged := strings.Count(w.logged(), "admin call refused") - before; status >= 400 && logged == 0 && before < 10 {
				t.Errorf("%s %q: not logged", path, headers)
			}
		}
	}
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	check(http.StatusOK, bearer(first)...)
	check(unauthorized, bearer(second)...)
	check(unauthorized)
	check(unauthorized, "Authorization", first)
	change(first + "\n\n" + second + "\n")
	check(http.StatusOK, bearer(first)...)
	check(http.StatusOK, bearer(second)...)
	change(second)
	check(unauthorized, bearer(first)...)
	for _, bad := range []string{"", "short", second + "\n" + first + "\nthird-token-0123456789", strings.Repeat("x", 5000)} {
		if err := write(bad); err == nil {
			t.Errorf("%.20q is accepted", bad)
		}
		check(http.StatusOK, bearer(second)...) // the previous operators are still accepted
	}
	good := bearer(second)
	for _, host := range []string{"evil.example", "10.1.2.3", "127.0.0.1.evil.example", ""} {
		if host != "" {
			check(forbidden, append(good, "Host", host)...)
		}
	}
	for _, host := range []string{"localhost:6070", "127.0.0.1", "[::1]:6070", "gate.example:80", "Localhost"} {
		check(http.StatusOK, append(good, "Host", host)...)
	}
	check(forbidden, append(good, "Origin", "http://evil.example")...)
	check(forbidden, append(good, "Origin", "null")...)
	check(forbidden, append(good, "Sec-Fetch-Site", "cross-site")...)
	check(http.StatusOK, append(good, "Origin", "http://127.0.0.1:6070")...)
	if strings.Contains(w.logged(), first) || strings.Contains(w.logged(), second) {
		t.Error("the log has a token")
	}
}

// TestRefusalsDoNotFloodTheLog checks that 10 lines per second are logged, followed by the number of omitted lines.
// TestOpeningThePageIsNoWarning checks that the calls of a page that has no token yet are refused without a warning.
// Regression: bug 170.
func TestOpeningThePageIsNoWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("a-token-of-the-operator\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, file)
	if got := w.call("GET", "/admin/v1/config", "", "Sec-Fetch-Site", "same-origin"); got.Code != http.StatusUnauthorized || strings.Contains(w.logged(), "refused") {
		t.Errorf("%d, logged %s", got.Code, w.logged())
	}
	for i, headers := range [][]string{nil, {"Sec-Fetch-Site", "same-origin", "Authorization", "Bearer another-token"}, {"Sec-Fetch-Site", "cross-site"}} {
		w.call("GET", "/admin/v1/config", "", headers...)
		if n := strings.Count(w.logged(), "admin call refused"); n != i+1 {
			t.Errorf("%q: %d lines", headers, n)
		}
	}
}

func TestRefusalsDoNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		for range 50 {
			w.call("GET", "/metrics", "", "Host", "evil.example")
			w.call("POST", "/admin/v1/reload", "{}", "Content-Type", "text/plain")
			w.call("POST", "/admin/v1/changes", strings.Repeat(" ", 200_000))
		}
		if n := strings.Count(w.logged(), "admin call refused"); n != 10 {
			t.Errorf("%d lines of 150 refused calls, want 10", n)
		}
		time.Sleep(time.Second)
		w.call("GET", "/metrics", "", "Host", "evil.example")
		if !strings.Contains(w.logged(), "not_logged=140") {
			t.Errorf("after a second, the log does not say that 140 lines were left out: %s", w.logged())
		}
	})
}

// TestAnswersRepeatLittle checks that answers repeat only the beginning of a caller's long input.
func TestAnswersRepeatLittle(t *testing.T) {
	w, long := newWorld(t, ""), strings.Repeat("x", 60_000)
	for path, body := range map[string]string{
		"POST /admin/v1/keys/explain":               `{"` + long + `":1}`,
		"POST /admin/v1/changes/try":                `{"` + long + `":1,"` + long + `":2}`,
		"POST /admin/v1/keys/give":                  `{"policy":"` + long + `","key":"k"}`,
		"POST /admin/v1/keys/reset":                 `{"policy":"api","key":"` + long + `"}`,
		"POST /admin/v1/changes":                    `{"set":{"` + long + `":{}}}`,
		"POST /admin/v1/changes/clear":              `{"policy":"` + long + `"}`,
		"GET /admin/v1/keys/top?n=" + long:          "",
		"GET /admin/v1/keys/top?by=" + long:         "",
		"GET /admin/v1/keys/limited?policy=" + long: "",
		"GET /admin/v1/policies/" + long:            "",
		"POST /admin/v1/keys/timeline":              `{"policy":"` + long + `","key":"k"}`,
	} {
		method, target, _ := strings.Cut(path, " ")
		if got := w.call(method, target, body); got.Code < 400 || got.Body.Len() > 2000 {
			t.Errorf("%.60s: %d with %d bytes", path, got.Code, got.Body.Len())
		}
	}
}

// TestOwnAddressIsAHost checks that a scraper may use the address that it connects to as the Host.
func TestOwnAddressIsAHost(t *testing.T) {
	w := newWorld(t, "")
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Host = "10.1.2.3:6070"
	local := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 6070}
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
	if recorder.Code != http.StatusOK {
		t.Errorf("%d", recorder.Code)
	}
}

func TestCheckAddress(t *testing.T) {
	for address, loopback := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:1": true, "localhost:1": true,
		"0.0.0.0:1": false, ":1": false, "10.0.0.1:1": false, "gate.example:1": false, "127.0.0.1": false,
	} {
		if err := admin.CheckAddress(address, false); (err == nil) != loopback {
			t.Errorf("%s without operators: %v", address, err)
		}
		if err := admin.CheckAddress(address, true); err != nil {
			t.Errorf("%s with operators: %v", address, err)
		}
	}
}

// TestOperatorsAreUsers checks that users from a file are operators if they have a right to read or operate.
func TestOperatorsAreUsers(t *testing.T) {
	file, text := filepath.Join(t.TempDir(), "users.yaml"), "users:\n"
	for _, right := range []string{"decide", "write", "read", "operate"} {
		text += fmt.Sprintf("  %s-er: {sha256: [%x], may: [%[1]s], policies: []}\n", right, sha256.Sum256([]byte(right)))
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, file)
	give := `{"policy":"day","key":"joe","author":"ann"}`
	for right, want := range map[string][2]int{
		"decide": {http.StatusForbidden, http.StatusForbidden}, "write": {http.StatusForbidden, http.StatusForbidden},
		"read": {http.StatusOK, http.StatusForbidden}, "operate": {http.StatusOK, http.StatusOK}, "none": {http.StatusUnauthorized, http.StatusUnauthorized},
	} {
		secret := "Bearer " + right
		sees := w.call("GET", "/admin/v1/policies", "", "Authorization", secret)
		acts := w.call("POST", "/admin/v1/keys/give", give, "Authorization", secret)
		if got := [2]int{sees.Code, acts.Code}; got != want {
			t.Errorf("%s: %d, want %d: %s", right, got, want, acts.Body)
		}
	}
}
