package daemon_test

import (
	"fmt"
	"strings"
)

// posting returns the bytes of a POST request with a body.
func posting(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", path, len(body), body)
}

func hostileHTTP() []hostileCase {
	cases := []hostileCase{
		{name: "no HTTP", send: "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", want: "400"},
		{name: "endless header", send: "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 1<<20), want: "431"},
		{name: "many headers", send: "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: y\r\n", 100_000), want: "431"},
		{name: "two lengths", send: "POST /v1/allow HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", want: "400"},
		{name: "length and chunks", send: "POST /v1/allow HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOST /v1/reset HTTP/1.1\r\n\r\n", want: "HTTP/1.1 4"},
		{name: "negative length", send: "POST /v1/allow HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", want: "400"},
		{name: "chunks without end", send: "POST /v1/allow HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\nxx"},
		{name: "two hosts", send: "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", want: "400"},
		{name: "no host", send: "GET /healthz HTTP/1.1\r\n\r\n", want: "400"},
		{name: "a path with ..", send: "GET /v1/../admin/v1/config HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", want: "HTTP/1.1 "},
		{name: "admin on this port", send: "GET /admin/v1/config HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", want: "404"},
		{name: "profiles on this port", send: "GET /debug/pprof/heap HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", want: "404"},
		{name: "trace", send: "TRACE /v1/allow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", want: "405"},
		{name: "connect", send: "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", want: "HTTP/1.1 4"},
		{name: "an upgrade", send: "GET /v1/allow HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", want: "HTTP/1.1 4"},
		{name: "a byte at a time", do: dripping("GET /healthz HTTP/1.1\r\nHost: ")},
		{name: "connections", do: flood(500, "GET /heal")},
		{name: "never reads", do: unread("GET /v1/policies HTTP/1.1\r\nHost: a\r\n\r\n", 300)},
		{name: "descriptions that differ", send: "GET /v1/authorize HTTP/1.1\r\nHost: a\r\nX-Forwarded-Uri: /a\r\nX-Original-Uri: /b\r\nConnection: close\r\n\r\n", want: "400"},
	}
	for _, c := range []struct{ name, path, body, want string }{
		{"reset", "/v1/reset", `{"policy":"api","key":"victim"}`, "403"},
		{"give", "/v1/give", `{"policy":"api","key":"victim","cost":5}`, "403"},
		{"deep nesting", "/v1/allow", strings.Repeat(`{"limit":`, 20_000) + "1" + strings.Repeat("}", 20_000), "400"},
		{"deep lists", "/v1/allow", strings.Repeat("[", 100_000), "400"},
		{"a field twice", "/v1/allow", `{"policy":"free","policy":"api","key":"victim","cost":0}`, "400"},
		{"an unknown field", "/v1/allow", `{"policy":"api","key":"victim","reset":true}`, "400"},
		{"no UTF-8", "/v1/allow", "{\"policy\":\"api\",\"key\":\"\xff\"}", "accepted: UTF-8"},
		{"half of a character", "/v1/allow", `{"policy":"api","key":"\ud800"}`, "half of a surrogate pair"},
		{"a number beyond all", "/v1/allow", `{"policy":"api","key":"victim","cost":1e400}`, "400"},
		{"a negative cost", "/v1/allow", `{"policy":"api","key":"victim","cost":-5}`, "400"},
		{"a cost with a point", "/v1/allow", `{"policy":"api","key":"victim","cost":0.5}`, "400"},
		{"a batch of 1001", "/v1/allow", `{"requests":[` + strings.Repeat(`{"policy":"free","key":"b"},`, 1000) + `{"policy":"free","key":"b"}]}`, "400"},
		{"a batch in a batch", "/v1/allow", `{"requests":[{"requests":[]}]}`, "400"},
		{"a body of two megabytes", "/v1/allow", `{"policy":"` + strings.Repeat("a", 2<<20) + `"}`, "413"},
		{"two documents", "/v1/allow", `{"policy":"free","key":"k"}{"policy":"api","key":"victim"}`, "400"},
		{"nothing", "/v1/allow", "", "400"},
		{"a limit for a hundred thousand years", "/v1/allow", `{"key":"victim","limit":{"algorithm":"fixed-window","limit":5,"window":"36500000d"}}`, "422"},
		{"a log of everything", "/v1/allow", `{"key":"victim","limit":{"algorithm":"sliding-log","limit":9000000000000000,"window":"1d"}}`, "422"},
		{"a forged reservation", "/v1/commit", `{"reservation":"AAAA","cost":0}`, "4"},
	} {
		cases = append(cases, hostileCase{name: c.name, send: posting(c.path, c.body), want: c.want})
	}
	for i := range cases {
		cases[i].to = "http"
	}
	return cases
}
