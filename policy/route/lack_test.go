package route

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A client cannot skip a route by making a part of its key unreadable. Only a missing part skips the route.
func TestUnreadablePartsSkipNoRoute(t *testing.T) {
	parts := map[string]Part{
		"cookie": {From: FromCookie, Name: "sid"}, "query": {From: FromQuery, Name: "token"},
		"jwt": {From: FromJWT, Name: "Authorization", Claim: "sub"}, "header": {From: FromHeader, Name: "X-API-Key"},
	}
	const token = "Bearer e30.eyJzdWIiOiJhIn0."
	for _, c := range []struct {
		part, header, value, query string
		want                       string // the missing part; "" if the route is skipped
	}{
		{part: "header"},
		{part: "cookie"},
		{part: "cookie", header: "Cookie", value: "other=1"},
		{part: "cookie", header: "Cookie", value: "sid="},
		{part: "cookie", header: "Cookie", value: strings.Repeat("; ", 2000) + "other=1"},
		{part: "cookie", header: "Cookie", value: "sid=a" + strings.Repeat(";", 3001), want: "cookie sid"},
		{part: "cookie", header: "Cookie", value: `sid="a`, want: "cookie sid"},
		{part: "cookie", header: "Cookie", value: "sid=\xc3\xa4", want: "cookie sid"},
		{part: "query"},
		{part: "query", query: "other=1&token="},
		{part: "query", query: "a;token=1", want: "query token"},
		{part: "query", query: "token=%zz", want: "query token"},
		{part: "jwt"},
		{part: "jwt", header: "Authorization", value: "Basic YTpi"},
		{part: "jwt", header: "Authorization", value: "Bearer opaque"},
		{part: "jwt", header: "Authorization", value: "Bearer e30.e30.s"},
		{part: "jwt", header: "Authorization", value: token + strings.Repeat("s", 9000), want: "jwt Authorization sub"},
		{part: "jwt", header: "Authorization", value: token + "s.s", want: "jwt Authorization sub"},
		{part: "jwt", header: "Authorization", value: "Bearer e30.eyJ!.s", want: "jwt Authorization sub"},
		{part: "jwt", header: "Authorization", value: "Bearer e30.W10.s", want: "jwt Authorization sub"},
		{part: "jwt", header: "Authorization", value: "Bearer e30.eyJzdWIiOlsxXX0.s", want: "jwt Authorization sub"}, // {"sub":[1]}
	} {
		r := Request{Method: "GET", Path: "/", Query: c.query, Header: http.Header{}}
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		m, ok := New([]Route{{Charges: []Charge{{Key: []Part{parts[c.part]}}}, Skip: true, EmptyKeyStatus: 401}}, Proxies{}).Find(&r)
		switch {
		case c.want == "" && ok:
			t.Errorf("%s %.60q %s: %v, want the next route", c.part, c.value, c.query, m.NoKey)
		case c.want != "" && (!ok || m.NoKey == nil || m.NoKey.Part != c.want || !m.NoKey.Unreadable || m.NoKey.Status != 400):
			t.Errorf("%s %.60q %s: %v", c.part, c.value, c.query, m.NoKey)
		}
	}
}

// The error names the first missing part and contains the route's own status.
func TestMissingKeyPartIsNamed(t *testing.T) {
	key := []Part{{From: FromConst, Name: "all"}, {From: FromHeader, Name: "X-API-Key"}, {From: FromClient, V6Prefix: 64}}
	for status, want := range map[int]int{0: 400, 401: 401} {
		m, ok := New([]Route{{Charges: []Charge{{Key: key}}, EmptyKeyStatus: status}}, Proxies{}).Find(&Request{Method: "GET", Path: "/"})
		if !ok || m.NoKey == nil || m.NoKey.Status != want || m.NoKey.Detail() != "the request lacks a part of its key: header X-API-Key" {
			t.Errorf("%d: %+v", status, m.NoKey)
		}
	}
}

// Check returns an error for text that is not a host or could be two hosts, and for a query with more than 10 000
// fields.
func TestCheck(t *testing.T) {
	for host, ok := range map[string]bool{
		"": true, "h": true, "H_1.example.com.": true, "h:80": true, "h:": true, "10.0.0.1:80": true, "[2001:db8::1]": true, "[::1]:80": true,
		"b\u00fccher.example": false, "[fe80::1%eth0]": false, "[fe80::1%25eth0]:80": false,
		"h:80:81": false, "h:http": false, "h:8 0": false, "2001:db8::1": false, "[h]": false, "[10.0.0.1]": false, "[::1": false, "[::1]80": false, "[::1]:http": false,
		":80": false, ".h": false, "x..y": false, "..": false, "[::1]:1:2": false, "::1]": false, "a/b": false, "a@b": false, "a b": false, "a,b": false, "a\x00": false, "a%41": false, `a\b`: false, strings.Repeat("a", 300): false,
	} {
		if err := (&Request{Method: "GET", Path: "/", Host: host}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", host, err)
		}
	}
	for n, ok := range map[int]bool{9_999: true, 10_000: false} {
		if err := (&Request{Path: "/", Query: strings.Repeat("&", n)}).Check(); (err == nil) != ok {
			t.Errorf("%d: %v", n, err)
		}
	}
	host := must(ParseHost("2001:db8::1"))
	for _, text := range []string{"[2001:db8::1]", "[2001:DB8:0::1]:80"} {
		if !host.match(normalHost(text)) {
			t.Errorf("%s is another host", text)
		}
	}
}

// A key with one part is that part, so that a deny override for a network applies.
func TestKeyOfOnePartIsUnchanged(t *testing.T) {
	for _, part := range []string{"2001:db8::/64", `a\b`, "a:b"} {
		if got := join([]string{part}); got != part {
			t.Errorf("%q: %q", part, got)
		}
	}
}

// TestFromHTTP checks the path of a request whose target is not a path (regression: bug 67).
func TestFromHTTP(t *testing.T) {
	for target, want := range map[string]string{
		"/login": "/login", "http://h/login": "/login", "http://h": "", "x:/login": "/login",
		"x:http://h/login": "", "mailto:login": "", "login": "",
	} {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		r, err := FromHTTP(&http.Request{Method: http.MethodGet, URL: u, Host: "h"})
		if refused := want == "" && target != "http://h"; (err != nil) != refused || err == nil && r.Path != want {
			t.Errorf("%s: %q, %v", target, r.Path, err)
		}
	}
}

// TestCheckOfConnection checks that Connection can name only hop-by-hop headers and absent headers (regression: bug 110).
func TestCheckOfConnection(t *testing.T) {
	for connection, ok := range map[string]bool{
		"keep-alive": true, "close": true, "Upgrade, HTTP2-Settings": true, "TE, trailer": true, "x-absent": true, "": true, ",,": true,
		"X-Plan": false, "keep-alive, x-plan": false, "\tX-PLAN ,close": false, "X-Forwarded-For": false,
	} {
		h := http.Header{"Connection": {"keep-alive", connection}, "X-Plan": {"free"}, "X-Forwarded-For": {"192.0.2.1"}, "Upgrade": {"websocket"}, "Te": {"trailers"}}
		if err := (&Request{Method: "GET", Path: "/", Header: h}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", connection, err)
		}
	}
}
