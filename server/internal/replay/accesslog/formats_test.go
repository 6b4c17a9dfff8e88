package accesslog

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at is the time in most lines below, in µs.
var at = time.Date(2026, time.November, 22, 14, 5, 9, 0, time.UTC).UnixMicro()

var compareAddresses = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// read detects the format of the lines and reads the last one. It returns the headers in want with the request.
func read(t *testing.T, o Options, want []Need, lines ...string) (Request, taken) {
	t.Helper()
	format, err := o.choose(lines)
	if err != nil {
		t.Fatal(err)
	}
	headers, cookies := map[string]bool{}, map[string]bool{}
	for _, n := range want {
		if n.Kind == Cookie {
			cookies[n.Name] = true
		} else {
			headers[canonical(n.Name)] = true
		}
	}
	format.want(headers, cookies)
	q := Request{Size: -1}
	if err := format.read(lines[len(lines)-1], &q); err != nil {
		t.Fatal(err)
	}
	return q, format
}

// Regression: bug 132. Regression: bug 133.
func TestFormatsReadTheLinesOfTheirServers(t *testing.T) {
	client := netip.MustParseAddr("203.0.113.7")
	user := []Need{{Kind: Head, Name: "X-User"}}
	for _, c := range []struct {
		name, about string
		options     Options
		want        []Need
		lines       []string
		request     Request
	}{
		{
			name: "combined", about: "combined of nginx and Apache",
			lines:   []string{`203.0.113.7 - frank [22/Nov/2026:15:05:09 +0100] "GET /a%20b?x=1&y=2 HTTP/1.1" 200 123 "-" "curl/8.5"`},
			request: Request{Time: at, Client: client, Method: "GET", Path: "/a%20b", Query: "x=1&y=2", Agent: "curl/8.5", Status: 200, Size: -1},
		},
		{
			name: "combined with escapes and more fields", about: "combined of nginx and Apache",
			lines:   []string{`203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "GET /\x22x\\y HTTP/1.1" 404 - "-" "a \"b\" c" 0.003`},
			request: Request{Time: at, Client: client, Method: "GET", Path: `/"x\y`, Agent: `a "b" c`, Status: 404, Size: -1},
		},
		{
			name: "main", about: "nginx's main: combined with X-Forwarded-For", want: []Need{{Kind: Head, Name: "x-forwarded-for"}},
			lines: []string{`203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "GET / HTTP/1.1" 200 1 "-" "x" "10.0.0.1, 10.0.0.2"`},
			request: Request{
				Time: at, Client: client, Method: "GET", Path: "/", Agent: "x", Status: 200, Size: -1,
				Headers: []Header{{"X-Forwarded-For", "10.0.0.1, 10.0.0.2"}},
			},
		},
		{
			name: "vhost_combined", about: "Apache's vhost_combined",
			lines:   []string{`www.example.com:443 203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "POST /login HTTP/2.0" 302 5 "-" "x"`},
			request: Request{Time: at, Client: client, Method: "POST", Host: "www.example.com", Path: "/login", Agent: "x", Status: 302, Size: -1},
		},
		{
			name: "common", about: "common of Apache",
			lines:   []string{`203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "GET http://example.com/x HTTP/1.0" 200 5`},
			request: Request{Time: at, Client: client, Method: "GET", Host: "example.com", Path: "/x", Status: 200, Size: -1},
		},
		{
			name: "haproxy by syslog", about: "HAProxy's httplog, by syslog",
			lines:   []string{`Nov 22 14:05:09 lb haproxy[14389]: 203.0.113.7:33317 [22/Nov/2026:14:05:09.250] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {example.com} {} "GET /index.html?x=1 HTTP/1.1"`},
			request: Request{Time: at + 250_000, Client: client, Method: "GET", Path: "/index.html", Query: "x=1", Status: 200, Size: -1},
		},
		{
			name: "haproxy", about: "HAProxy's httplog",
			lines:   []string{`203.0.113.7:33317 [22/Nov/2026:14:05:09.000] http-in~ static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "POST / HTTP/1.1"`},
			request: Request{Time: at, Client: client, Method: "POST", Path: "/", Status: 200, Size: -1},
		},
		{
			name: "haproxy, RFC 5424", about: "HAProxy's httplog, by syslog",
			lines:   []string{`<134>1 2026-11-22T14:05:09.251000+00:00 lb haproxy 14389 - [x@1 a="b] c"] 203.0.113.7:33317 [22/Nov/2026:14:05:09.250] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /a#23b\c#22?x=#7B1 HTTP/1.1"`},
			request: Request{Time: at + 250_000, Client: client, Method: "GET", Path: `/a#b\c"`, Query: "x={1", Status: 200, Size: -1},
		},
		{
			name: "haproxy, a backslash at the end", about: "HAProxy's httplog",
			lines:   []string{`203.0.113.7:33317 [22/Nov/2026:14:05:09.000] http-in~ static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /a\"`},
			request: Request{Time: at, Client: client, Method: "GET", Path: `/a\`, Status: 200, Size: -1},
		},
		{
			name: "nginx by syslog", about: "combined of nginx and Apache, by syslog",
			lines:   []string{`<190>Nov 22 14:05:09 web nginx: 203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "GET /x HTTP/1.1" 200 1 "-" "x"`},
			request: Request{Time: at, Client: client, Method: "GET", Path: "/x", Agent: "x", Status: 200, Size: -1},
		},
		{
			name: "JSON by syslog", about: "lines of JSON",
			lines:   []string{`2026-11-22T14:05:09.3+00:00 web app[7]: {"ts":1795356309,"uri":"/x"}`},
			request: Request{Time: at, Path: "/x", Size: -1},
		},
		{
			name: "a client without an address", about: "combined of nginx and Apache",
			lines:   []string{`host7.example.net - - [22/Nov/2026:14:05:09 +0000] "GET / HTTP/1.1" 200 1 "-" "x"`},
			request: Request{Time: at, Name: "host7.example.net", Method: "GET", Path: "/", Agent: "x", Status: 200, Size: -1},
		},
		{
			name: "X-Forwarded-For in place of the client", about: "combined of nginx and Apache", want: []Need{{Kind: Head, Name: "X-Forwarded-For"}},
			lines: []string{`198.51.100.1, 10.0.0.9, 203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "GET / HTTP/1.1" 200 1 "-" "x"`},
			request: Request{
				Time: at, Client: client, Method: "GET", Path: "/", Agent: "x", Status: 200, Size: -1,
				Headers: []Header{{"X-Forwarded-For", "198.51.100.1, 10.0.0.9"}},
			},
		},
		{
			name: "X-Forwarded-For in a format string", about: "the format of --format", want: []Need{{Kind: Head, Name: "X-Forwarded-For"}},
			options: Options{Format: `%{X-Forwarded-For}i %l %u %t "%r" %>s`},
			lines:   []string{`10.0.0.9, 203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "GET / HTTP/1.1" 200`},
			request: Request{
				Time: at, Client: client, Method: "GET", Path: "/", Status: 200, Size: -1,
				Headers: []Header{{"X-Forwarded-For", "10.0.0.9"}},
			},
		},
		{
			name: "traefik json", about: "lines of JSON: time=StartUTC client=ClientHost method=RequestMethod target=RequestPath host=RequestHost status=DownstreamStatus size=RequestContentSize header.User-Agent=request_User-Agent",
			lines:   []string{`{"ClientAddr":"203.0.113.7:5001","ClientHost":"203.0.113.7","DownstreamStatus":200,"RequestContentSize":3,"RequestHost":"example.com","RequestMethod":"PUT","RequestPath":"/x?y=1","StartLocal":"2026-11-22T15:05:09+01:00","StartUTC":"2026-11-22T14:05:09Z","request_User-Agent":"curl/8.5","time":"2026-11-22T14:05:10Z"}`},
			request: Request{Time: at, Client: client, Method: "PUT", Host: "example.com", Path: "/x", Query: "y=1", Agent: "curl/8.5", Status: 200, Size: 3},
		},
		{
			name: "cloudflare", about: "lines of JSON: time=EdgeStartTimestamp client=ClientIP method=ClientRequestMethod target=ClientRequestURI host=ClientRequestHost status=EdgeResponseStatus header.User-Agent=ClientRequestUserAgent",
			lines:   []string{`{"ClientIP":"203.0.113.7","ClientRequestHost":"example.com","ClientRequestMethod":"GET","ClientRequestPath":"/x","ClientRequestURI":"/x?y=1","ClientRequestUserAgent":"curl/8.5","EdgeResponseStatus":429,"EdgeStartTimestamp":"2026-11-22T14:05:09Z"}`},
			request: Request{Time: at, Client: client, Method: "GET", Host: "example.com", Path: "/x", Query: "y=1", Agent: "curl/8.5", Status: 429, Size: -1},
		},
		{
			name: "google cloud", about: "lines of JSON: time=timestamp client=httpRequest.remoteIp method=httpRequest.requestMethod target=httpRequest.requestUrl status=httpRequest.status header.User-Agent=httpRequest.userAgent",
			lines:   []string{`{"httpRequest":{"requestMethod":"GET","requestUrl":"https://example.com/a?b=c","requestSize":"10","status":200,"userAgent":"curl","remoteIp":"203.0.113.7","serverIp":"10.0.0.1","latency":"0.1s"},"timestamp":"2026-11-22T14:05:09.250Z","resource":{"type":"http_load_balancer"}}`},
			request: Request{Time: at + 250_000, Client: client, Method: "GET", Host: "example.com", Path: "/a", Query: "b=c", Agent: "curl", Status: 200, Size: -1},
		},
		{
			name: "caddy", about: "lines of JSON", want: user,
			lines: []string{`{"level":"info","ts":1795356309.2500012,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"10.0.0.1","client_ip":"203.0.113.7","proto":"HTTP/2.0","method":"GET","host":"example.com","uri":"/a?b=c","headers":{"X-User":["anna"],"User-Agent":["curl"]}},"duration":0.1,"size":9,"status":200}`},
			request: Request{
				Time: at + 250_001, Client: client, Method: "GET", Host: "example.com", Path: "/a", Query: "b=c", Agent: "curl", Status: 200, Size: -1,
				Headers: []Header{{"X-User", "anna"}},
			},
		},
		{
			name: "envoy", about: "lines of JSON",
			lines:   []string{`{"start_time":"2026-11-22T14:05:09.250Z","method":"GET","path":"/a?b=c","authority":"example.com","response_code":200,"downstream_remote_address":"203.0.113.7:5000","user_agent":"curl","x_forwarded_for":"203.0.113.7"}`},
			request: Request{Time: at + 250_000, Client: client, Method: "GET", Host: "example.com", Path: "/a", Query: "b=c", Agent: "curl", Status: 200, Size: -1},
		},
		{
			name: "envoy gateway", about: "lines of JSON", want: []Need{{Kind: Head, Name: "X-Forwarded-For"}},
			lines: []string{`{":authority":"example.com","bytes_received":0,"downstream_remote_address":"203.0.113.7:5000","method":"GET","protocol":"HTTP/1.1","response_code":200,"start_time":"2026-11-22T14:05:09.250Z","user-agent":"curl","x-envoy-origin-path":"/a?b=c","x-forwarded-for":"198.51.100.1","x-request-id":"1"}`},
			request: Request{
				Time: at + 250_000, Client: client, Method: "GET", Host: "example.com", Path: "/a", Query: "b=c", Agent: "curl", Status: 200, Size: -1,
				Headers: []Header{{"X-Forwarded-For", "198.51.100.1"}},
			},
		},
		{
			name: "kong", about: "lines of JSON", want: user,
			lines: []string{`{"latencies":{"request":3},"request":{"querystring":{"b":"c"},"size":138,"uri":"/a?b=c","url":"http://example.com:8000/a?b=c","headers":{"host":"example.com","user-agent":"curl","x-user":"anna"},"method":"GET"},"client_ip":"203.0.113.7","response":{"status":200,"size":"9","headers":{}},"upstream_uri":"/v2/a","started_at":1795356309250}`},
			request: Request{
				Time: at + 250_000, Client: client, Method: "GET", Host: "example.com", Path: "/a", Query: "b=c", Agent: "curl", Status: 200, Size: -1,
				Headers: []Header{{"X-User", "anna"}},
			},
		},
		{
			name: "apisix", about: "lines of JSON", want: user,
			lines: []string{`{"client_ip":"203.0.113.7","start_time":1795356309250,"route_id":"1","request":{"headers":{"host":"example.com","user-agent":"curl","x-user":["anna","bea"]},"size":87,"method":"GET","uri":"/a?b=c","url":"http://example.com:9080/a?b=c","querystring":{"b":"c"}},"response":{"status":200,"size":9}}`},
			request: Request{
				Time: at + 250_000, Client: client, Method: "GET", Host: "example.com", Path: "/a", Query: "b=c", Agent: "curl", Status: 200, Size: -1,
				Headers: []Header{{"X-User", "anna, bea"}},
			},
		},
		{
			name: "an object of headers in another program's log", about: "lines of JSON", want: user,
			lines:   []string{`{"ts":1795356309,"path":"/a","request":{"headers":{"x-user":"anna"}}}`},
			request: Request{Time: at, Path: "/a", Size: -1, Headers: []Header{{"X-User", "anna"}}},
		},
		{
			name: "nginx's own variables as JSON", about: "lines of JSON: time=time_iso8601 client=remote_addr method=request_method target=request_uri status=status header.User-Agent=http_user_agent",
			lines:   []string{`{"time_iso8601":"2026-11-22T14:05:09+00:00","remote_addr":"203.0.113.7","request_method":"GET","uri":"/index.php","args":"page=/a","request_uri":"/a","status":"200","http_user_agent":"curl"}`},
			request: Request{Time: at, Client: client, Method: "GET", Path: "/a", Agent: "curl", Status: 200, Size: -1},
		},
		{
			name: "a header as JSON of nginx", about: "lines of JSON", want: user,
			lines:   []string{`{"msec":"1795356309.250","request_uri":"/a","http_x_user":"anna"}`},
			request: Request{Time: at + 250_000, Path: "/a", Size: -1, Headers: []Header{{"X-User", "anna"}}},
		},
		{
			name: "a header as JSON of Traefik", about: "lines of JSON", want: user,
			lines:   []string{`{"StartUTC":"2026-11-22T14:05:09Z","RequestPath":"/a","request_X-User":"anna"}`},
			request: Request{Time: at, Path: "/a", Size: -1, Headers: []Header{{"X-User", "anna"}}},
		},
		{
			name: "nginx's request line as JSON", about: "lines of JSON: time=msec request=request",
			lines:   []string{`{"msec":"1795356309.250","request":"GET /a?b=c HTTP/1.1","uri":"/index.php","args":"page=/a"}`},
			request: Request{Time: at + 250_000, Method: "GET", Path: "/a", Query: "b=c", Size: -1},
		},
		{
			name: "nginx's path and arguments as JSON", about: "lines of JSON: time=msec target=uri query=args",
			lines:   []string{`{"msec":"1795356309.250","uri":"/a","args":"b=c"}`},
			request: Request{Time: at + 250_000, Path: "/a", Query: "b=c", Size: -1},
		},
		{
			name: "names with dashes", about: "lines of JSON: time=Time client=Remote-Addr method=Request-Method target=Request-URI",
			lines:   []string{`{"Time":"2026-11-22T14:05:09Z","Remote-Addr":"203.0.113.7","Request-Method":"GET","Request-URI":"/a"}`},
			request: Request{Time: at, Client: client, Method: "GET", Path: "/a", Size: -1},
		},
		{
			name: "headers that differ in a dash", about: "lines of JSON", want: user,
			lines: []string{`{"ts":1795356309,"path":"/a","request":{"headers":{"X_User":"eve","x-user":"anna"}}}`},
			request: Request{
				Time: at, Path: "/a", Size: -1, Headers: []Header{{"X-User", "anna"}},
			},
		},
		{
			name: "IIS by a format string, as replay.md shows", about: "the format of --format",
			options: Options{Format: `$time_iso8601 $s_ip $request_method $uri $args $port $user $remote_addr $agent $referer $status $sub $win32 $took`},
			lines:   []string{`2026-11-22T14:05:09 10.0.0.1 GET /a b=c 443 - 203.0.113.7 Mozilla/5.0+(X11) - 200 0 0 46`},
			request: Request{Time: at, Client: client, Method: "GET", Path: "/a", Query: "b=c", Status: 200, Size: -1},
		},
		{
			name: "nginx by a format string", about: "the format of --format", want: []Need{{Kind: Head, Name: "X-User"}, {Kind: Cookie, Name: "sid"}},
			options: Options{Format: `$msec ${remote_addr}:$remote_port $host "$request_uri" $request_method $content_length "$http_x_user" "$cookie_sid"`},
			lines:   []string{`1795356309.250 203.0.113.7:99 example.com "/a?b" PUT 77 "anna" "s1"`},
			request: Request{
				Time: at + 250_000, Client: client, Method: "PUT", Host: "example.com", Path: "/a", Query: "b", Size: 77,
				Headers: []Header{{"X-User", "anna"}, {"Cookie", "sid=s1"}},
			},
		},
		{
			name: "apache by a format string", about: "the format of --format", want: user,
			options: Options{Format: `%{usec}t %a %m %U%q %{Host}i %>s 100%% "%{X-User}i"`},
			lines:   []string{`1795356309250001 203.0.113.7 GET /a?b=1 example.com 200 100% "anna"`},
			request: Request{
				Time: at + 250_001, Client: client, Method: "GET", Host: "example.com", Path: "/a", Query: "b=1", Status: 200, Size: -1,
				Headers: []Header{{"X-User", "anna"}},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, format := read(t, c.options, c.want, c.lines...)
			if diff := cmp.Diff(c.request, got, compareAddresses); diff != "" {
				t.Errorf("want - got +\n%s", diff)
			}
			if !strings.HasPrefix(format.about, c.about) {
				t.Errorf("taken as %q", format.about)
			}
		})
	}
}

func TestBadLinesHaveAReason(t *testing.T) {
	for _, c := range []struct{ format, line, reason string }{
		{"combined", `x`, `line is "x"`},
		{"combined", `203.0.113.7 - - x`, `which has " [" after field 3`},
		{"combined", `203.0.113.7 - - [32/Nov/2026:14:05:09 +0000] "GET / HTTP/1.1" 200 1 "-" "-"`, "time is"},
		{"combined", `203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "\x16\x03\x01" 400 1 "-" "-"`, "request is"},
		{"combined", `203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "- - -" 0 1 "-" "-"`, "path is"},
		{"combined", `203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "GET x HTTP/1.1" 400 1 "-" "-"`, "path is"},
		{"json", `{"ts":1795356309,"level":"INFO","target":"app::server","uri":"app::server"}`, "path is"},
		{"combined", `203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "GET / HTTP/1.1" 2x0 1 "-" "-"`, "status is"},
		{"json", `{"ts":1795356309,"uri":"/`, "line is"},
		{"json", `{"ts":null,"uri":"/"}`, "time is"},
		{"json", `{"ts":1795356309,"uri":null}`, "path is"},
	} {
		first := []string{`{"ts":1795356309,"uri":"/"}`}
		if c.format == "combined" {
			first = []string{`203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "GET / HTTP/1.1" 200 1 "-" "-"`}
		}
		o := Options{Format: c.format}
		format, err := o.choose(first)
		if err != nil {
			t.Fatal(err)
		}
		err = format.read(c.line, &Request{})
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v, want %q", c.line, err, c.reason)
		}
	}
}

func TestUnreadableFormatStringsAreErrors(t *testing.T) {
	for _, c := range []struct{ format, want string }{
		{`$remote_addr$msec $uri`, "two variables without a text"},
		{`$remote_addr $uri`, "has no time; accepted: one with $time_local"},
		{`$msec $remote_addr`, "has no request; accepted: one with $request"},
		{`$msec ${uri`, "}"},
		{`$msec $uri $`, "name of a variable"},
		{`%t %{X`, "a directive"},
		{`%{%Y-%m}t %r`, "%{usec}t"},
		{"tomcat", "accepted: main, combined"},
	} {
		o := Options{Format: c.format}
		if _, err := o.choose([]string{"x"}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.format, err, c.want)
		}
	}
	o := Options{}
	if _, err := o.choose([]string{"what is this"}); err == nil || !strings.Contains(err.Error(), `"what is this"; name it with --format`) {
		t.Error(err)
	}
	if _, err := o.choose([]string{`{"when":1}`}); err == nil || !strings.Contains(err.Error(), "no field has the time; accepted: one of ") || !strings.Contains(err.Error(), "the first lines have when") {
		t.Error(err)
	}
}
