package proxies

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/headgate/headgate/lab/programs"
)

// denying is a file that denies every decided request, so that each request that reaches the upstream had no decision.
// The key "fresh" and the account "new" belong to the client, who may use them alone, but not to leave another counter.
var denying = `
policies: {api: {algorithm: fixed-window, limit: 1000000, window: 1h}, agent: {algorithm: fixed-window, limit: 1000000, window: 1h}}
overrides:
  - {policy: api, key: all, deny: true}
  - {policy: api, key: real, deny: true}
trusted_proxies: [127.0.0.0/8]
routes:
  - {match: {path: /keyed}, key: [{header: X-Api-Key}], policies: [api]}
  - {match: {path: /account}, key: [{query: account}], policies: [api]}
  - {match: {path: /session}, key: [{cookie: sid}], empty_key: skip, policies: [api]}
  - {match: {path: /agent, when: 'request.headers["user-agent"].matches("` + strings.Repeat("[a-f]+", 140) + `z$")'}, key: [{const: all}], policies: [api]}
  - {match: {path: "/agent", header: {X-Plan: none}}, key: [{const: all}], policies: [agent]}
  - {key: [{const: all}], policies: [api]}
`

// oddRequests are requests that a client could send so that no decision is made, or one about another key than the
// upstream reads. H stands for the usual Host line.
func oddRequests() []string {
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "X-%d: v\r\n", i)
		}
		return b.String()
	}
	long := strings.Repeat("a", 9000)
	return []string{
		"GET / HTTP/1.1\r\nH\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\"\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a<b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: [fe80::1%eth0]\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: b\xc3\xbccher.example\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n",
		"GET / HTTP/1.1\r\nHost:\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a:80:81\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: " + strings.Repeat("h", 300) + "\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: " + strings.Repeat("h", 7000) + "\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nHost: other\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET http://other/ HTTP/1.1\r\nH\r\n\r\n",
		"GET http://x\"/ HTTP/1.1\r\nH\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nH\r\n\r\n",
		"GET //x HTTP/1.1\r\nH\r\n\r\n",
		"GET /a/%2e%2e/x HTTP/1.1\r\nH\r\n\r\n",
		"GET /%zz HTTP/1.1\r\nH\r\n\r\n",
		"GET /?a=%zz;b#c HTTP/1.1\r\nH\r\n\r\n",
		"GET /\xff HTTP/1.1\r\nH\r\n\r\n",
		"GET /a|b\"<> HTTP/1.1\r\nH\r\n\r\n",
		"GET /" + long + " HTTP/1.1\r\nH\r\n\r\n",
		"GET /?" + strings.Repeat("&", 7500) + " HTTP/1.1\r\nH\r\n\r\n",
		"GET /" + long[:7500] + " HTTP/1.1\r\nH\r\nX: " + long[:7000] + "\r\n\r\n",
		"get / HTTP/1.1\r\nH\r\n\r\n",
		"G@T / HTTP/1.1\r\nH\r\n\r\n",
		"VERYLONGMETHODVERYLONGMETHODVERYLONGMETHOD / HTTP/1.1\r\nH\r\n\r\n",
		"TRACE / HTTP/1.1\r\nH\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\n" + lines(78) + "\r\n",
		"GET / HTTP/1.1\r\nH\r\n" + lines(90) + "\r\n",
		"GET / HTTP/1.1\r\nH\r\n" + lines(94) + "\r\n",
		"GET / HTTP/1.1\r\nH\r\n" + lines(97) + "\r\n",
		"GET / HTTP/1.1\r\nH\r\n" + lines(100) + "\r\n",
		"GET / HTTP/1.1\r\nH\r\n" + lines(300) + "\r\n",
		"GET / HTTP/1.1\r\nH\r\n" + strings.Repeat("X: v\r\n", 97) + "\r\n",
		"GET / HTTP/1.1\r\nH\r\nX: " + long[:7900] + "\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nX: " + long[:7500] + "\r\nY: " + long[:7500] + "\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nX: " + long[:5000] + "\r\nY: " + long[:7000] + "\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nX: " + strings.Repeat(long, 3) + "\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nX: " + strings.Repeat(long, 20) + "\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\n" + strings.Repeat("X: "+long[:7900]+"\r\n", 4) + "\r\n",
		"GET / HTTP/1.1\r\nH\r\nX: \x01\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nX: \x7f\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nX: \xff\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nX Y: z\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nX\"Y: z\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nX: a\r\n b\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nExpect: nothing\r\n\r\n",
		"GET / HTTP/1.1\r\nH\r\nX-Request-Id: \"\\\r\n\r\n",
		"POST / HTTP/1.1\r\nH\r\nContent-Length: 1\r\n\r\n",
		"POST / HTTP/1.1\r\nH\r\nTrailer: a b\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nH\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nH\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"GET / HTTP/1.1\r\nH\r\nX-Forwarded-Uri: /keyed\r\nX-Original-URL: http://x/keyed\r\nX-Original-URI: /keyed\r\nX-Forwarded-Host: \"\r\nX-Api-Key: fresh\r\n\r\n",
		"GET /keyed HTTP/1.1\r\nH\r\nX-Api-Key: real\r\n\r\n",
		"GET /keyed HTTP/1.1\r\nH\r\nX-Api-Key: real\r\nX-Api-Key: fresh\r\n\r\n",
		"GET /keyed HTTP/1.1\r\nH\r\nX-Api-Key: fresh\r\nX-Api-Key: real\r\n\r\n",
		"GET /keyed HTTP/1.1\r\nH\r\nx-api-key: fresh\r\nX-API-KEY: real\r\nX-Api-Key: other\r\n\r\n",
		"GET /keyed HTTP/1.1\r\nH\r\nX-Api-Key: real\r\nX-Api-Key:\r\n\r\n",
		"GET /keyed HTTP/1.1\r\nH\r\nConnection: X-Api-Key\r\nX-Api-Key: real\r\n\r\n",
		"GET /account?account=real HTTP/1.1\r\nH\r\n\r\n",
		"GET /account?account=new&account=real HTTP/1.1\r\nH\r\n\r\n",
		"GET /account?account=new&x;account=real HTTP/1.1\r\nH\r\n\r\n",
		"GET /account?account=new&%61ccount=real HTTP/1.1\r\nH\r\n\r\n",
		"GET /account?account=new&+account=real HTTP/1.1\r\nH\r\n\r\n",
		"GET /account?account=new&account[]=real HTTP/1.1\r\nH\r\n\r\n",
		"GET /account?account=new&ACCOUNT=real HTTP/1.1\r\nH\r\n\r\n",
		"GET /account?account=real#1 HTTP/1.1\r\nH\r\n\r\n",
		"GET /account?account=new#&account=real HTTP/1.1\r\nH\r\n\r\n",
		"GET /account?account=new&%u0061ccount=real HTTP/1.1\r\nH\r\n\r\n",
		"GET /session HTTP/1.1\r\nH\r\nCookie: sid=real\r\n\r\n",
		"GET /session HTTP/1.1\r\nH\r\nCookie: sid=real x=1\r\n\r\n",
		"OPTIONS /?_method=POST HTTP/1.1\r\nH\r\nOrigin: http://o\r\nAccess-Control-Request-Method: POST\r\n\r\n",
		"GET /session HTTP/1.1\r\nH\r\nCookie: sid =  %72eal\r\n\r\n",
		"OPTIONS / HTTP/1.1\r\nH\r\nOrigin: http://o\r\nAccess-Control-Request-Method: POST\r\nX-HTTP-Method-Override: POST\r\n\r\n",
		"GET /session HTTP/1.1\r\nH\r\nCookie: sid=new; sid=real\r\n\r\n",
		"GET /session HTTP/1.1\r\nH\r\nCookie: sid=new\r\nCookie: sid=real\r\n\r\n",
		"GET /session HTTP/1.1\r\nH\r\nCookie: a=b sid=real\r\n\r\n",
		"GET /agent HTTP/1.1\r\nH\r\nX-Plan: none\r\nUser-Agent: " + long[:6000] + "\r\n\r\n",
	}
}

// sendText sends an odd request as text, and returns the answer's status, or 0 if the proxy closes the connection.
func sendText(t *testing.T, address, text string) int {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("the proxy is gone: %v", err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(c, text)
	for reader := bufio.NewReader(c); ; {
		line, err := reader.ReadString('\n')
		if err != nil {
			return 0
		}
		status := 0
		if _, err := fmt.Sscanf(line, "HTTP/1.%d %d", new(int), &status); err == nil && status >= 200 {
			return status
		}
	}
}

// TestOddRequestsAreDecided sends requests that a server may refuse to read through each example, which lets a request
// without a decision pass. None may reach the upstream, because the limits deny each of them, and none may end the
// proxy (regression: bug 95).
func TestOddRequestsAreDecided(t *testing.T) {
	for i := range all {
		t.Run(all[i].name, func(t *testing.T) {
			var arrived atomic.Int64
			upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
			defer upstream.Close()
			own, stop := decider(t, denying, "127.0.0.1:0")
			// A busy machine must not look like a missing decision.
			patient := []string{
				"timeout connect 100ms", "timeout connect 5s", "timeout server 250ms", "timeout server 10s", "timeout = 1000 ", "timeout = 20000 ",
				"dial_timeout 100ms", "dial_timeout 5s", "response_header_timeout 250ms", "response_header_timeout 10s", "proxy_read_timeout 250ms", "proxy_read_timeout 10s",
			}
			proxy := all[i].open(t, own, strings.TrimPrefix(upstream.URL, "http://"), patient...)
			for _, request := range oddRequests() {
				before := arrived.Load()
				for range 2 { // the second finds an idle connection
					status := sendText(t, proxy, strings.Replace(request, "\r\nH\r\n", "\r\nHost: h\r\n", 1))
					if arrived.Load() != before {
						t.Errorf("%d, and it reached the upstream: %.120q", status, request)
						before = arrived.Load()
					}
				}
			}
			if got := send(t, http.MethodGet, "http://"+proxy+"/keyed", "X-Api-Key: fresh"); got.status != http.StatusOK || arrived.Load() != 1 {
				t.Errorf("at the end: %+v, %d requests have reached the upstream", got, arrived.Load())
			}
			stop()
		})
	}
}

// TestOddRequestsOverEnvoy asks about the same requests as Envoy does: it joins repeated headers by commas, cookies by
// semicolons, and forwards a request only if the answer is OK.
func TestOddRequestsOverEnvoy(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "policies.yaml", denying)
	address := programs.Serve(t, 1, "serve", "--config", dir+"/policies.yaml", "--resp", "off", "--http", "off", "--grpc", "127.0.0.1:0", "--drain", "0s")["grpc"]
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client, asked := auth.NewAuthorizationClient(conn), 0
	for _, raw := range []bool{false, true} { // encode_raw_headers
		for _, request := range oddRequests() {
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.Replace(request, "\r\nH\r\n", "\r\nHost: h\r\n", 1))))
			if err != nil {
				continue // Envoy cannot read it either
			}
			asked++
			answer, err := client.Check(t.Context(), envoys(r, raw))
			if err == nil && answer.GetStatus().GetCode() == int32(codes.OK) {
				t.Errorf("it passes (raw headers: %t): %.120q", raw, request)
			}
			if err != nil {
				t.Errorf("no decision (raw headers: %t): %v: %.120q", raw, err, request)
			}
		}
	}
	if asked < 80 {
		t.Errorf("%d requests, want 80", asked)
	}
}

// envoys returns Envoy's message about a request.
func envoys(r *http.Request, raw bool) *auth.CheckRequest {
	sent := &auth.AttributeContext_HttpRequest{Method: r.Method, Host: r.Host, Path: r.RequestURI, Size: r.ContentLength}
	valid := func(text string) string { return strings.ToValidUTF8(text, "!") }
	sent.Path, sent.Host = valid(sent.Path), valid(sent.Host)
	if raw {
		sent.HeaderMap = &core.HeaderMap{}
	} else {
		sent.Headers = map[string]string{}
	}
	for name, values := range r.Header {
		name = strings.ToLower(name)
		separator := ","
		if name == "cookie" {
			separator = "; "
		}
		if !raw {
			sent.Headers[name] = valid(strings.Join(values, separator))
			continue
		}
		for _, value := range values {
			sent.HeaderMap.Headers = append(sent.HeaderMap.Headers, &core.HeaderValue{Key: name, RawValue: []byte(value)})
		}
	}
	return &auth.CheckRequest{Attributes: &auth.AttributeContext{
		Source:  &auth.AttributeContext_Peer{Address: &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{Address: "203.0.113.7"}}}},
		Request: &auth.AttributeContext_Request{Http: sent},
	}}
}
