package gateway_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestProxyHeadersFromUntrustedPeers checks that no spelling of a forwarding header from an untrusted peer reaches
// the upstream or a key.
func TestProxyHeadersFromUntrustedPeers(t *testing.T) {
	file := "policies: {user: {" + hour + "}}\nroutes: [{match: {path: /key}, key: [{header: CF-Connecting-IP}], policies: [user]}]\n"
	g := start(t, "trusted_proxies: []\n"+file, to(t, upstream(t, shows)))
	names := []string{
		"X_Forwarded_For", "x_real_ip", "X-Forwarded_Proto", "True-Client-Ip", "True_Client_IP", "X-Forwarded-Client-Cert", "Cf-Connecting-Ip", "Fastly-Client-Ip",
		"X-Client-Ip", "X-Cluster-Client-Ip", "X-Envoy-External-Address", "X-Original-Remote-Addr", "X-Forwarded", "Forwarded-For", "Fly-Client-Ip", "Client-Ip", "Proxy-Client-Ip", "WL-Proxy-Client-IP", "X-ProxyUser-Ip",
		"X-Remote-IP", "Remote-Addr", "X-Originating-IP", "Forwarded-For-IP", "DO-Connecting-IP", "X-Nf-Client-Connection-Ip", "X-Vercel-Forwarded-For", "X-HTTP-Host-Override", "X_Host",
		"Incap-Client-IP", "X-Sucuri-ClientIP", "Ali-Cdn-Real-Ip", "Cdn_Src_Ip", "X-True-Client-IP", "X-Appengine-Remote-Addr", // (regression: bug 237)
	}
	headers := make([]string, len(names), len(names)+1)
	for i, name := range names {
		headers[i] = name + ": 203.0.113.7"
	}
	got := g.send("GET", "/", append(headers, "X-Kept: 1", "X_Kept_Too: 1")...)
	for _, name := range names {
		if at := line(got.body, http.CanonicalHeaderKey(name)); at != "" {
			t.Errorf("%s: %q", name, at)
		}
	}
	if line(got.body, "X-Kept") != "1" || line(got.body, "X_kept_too") != "1" {
		t.Errorf("%s", got.body)
	}
	if got := g.send("GET", "/key", headers...); got.status != http.StatusBadRequest {
		t.Errorf("a key of a header that the upstream does not get: %d", got.status)
	}
	proxied := start(t, file, to(t, upstream(t, shows))) // loopback is trusted
	got = proxied.send("GET", "/", headers...)
	for _, name := range names {
		want := "203.0.113.7"
		if strings.Contains(name, "_") {
			want = "" // no proxy writes this header, so it comes from the client
		}
		if at := line(got.body, http.CanonicalHeaderKey(name)); at != want {
			t.Errorf("of a trusted proxy %s: %q, want %q", name, at, want)
		}
	}
}

// TestKeysUseOnlyForwardedHeaders checks that hop-by-hop headers are not used in keys.
func TestKeysUseOnlyForwardedHeaders(t *testing.T) {
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Upgrade"} {
		file := "policies: {user: {" + hour + "}}\nroutes: [{key: [{header: " + name + "}], policies: [user]}]\n"
		g := start(t, file, to(t, upstream(t, shows)))
		text := "GET / HTTP/1.1\r\nHost: h\r\n" + name + ": x-1\r\n\r\n"
		if answer := exchange(t, g.address, text); !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
			t.Errorf("%s: %.40q", name, answer)
		}
	}
}

// TestNoDotSegments checks that no spelling of dot segments reaches an upstream: it could escape from the upstream's path,
// and frameworks that do not resolve it serve another path than the routes have counted (regression: bug 226).
func TestNoDotSegments(t *testing.T) {
	below := start(t, byUser, to(t, upstream(t, shows)+"/base"))
	top := start(t, byUser, to(t, upstream(t, shows)))
	for _, c := range []struct {
		path   string
		status string
	}{
		{"/../admin", "400"},
		{"/a/../../admin", "400"},
		{"/a//../../admin", "400"},
		{"/./../admin", "400"},
		{"/%2e%2e/admin", "400"},
		{"/.%2E/admin", "400"},
		{"/%252e%252e/admin", "400"},
		{"/..%2fadmin", "400"},
		{"/a/..%2f..%2fadmin", "400"},
		{"/..%5cadmin", "400"},
		{"/..;x=1/admin", "400"},
		{"/;x=1", "400"},
		{"/a;x=1/b", "200"},
		{"/..", "400"},
		{"/a/../b", "400"},
		{"/a/.", "400"},
		{"/...", "200"},
		{"/a..b/..c", "200"},
	} {
		text := "GET " + c.path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
		answer := exchange(t, below.address, text)
		if !strings.HasPrefix(answer, "HTTP/1.1 "+c.status+" ") || c.status == "200" && !strings.Contains(answer, "GET /base"+c.path) {
			t.Errorf("%s: %q", c.path, answer)
		}
		if answer := exchange(t, top.address, text); !strings.HasPrefix(answer, "HTTP/1.1 "+c.status+" ") {
			t.Errorf("%s without a base path: %q", c.path, answer)
		}
	}
}
