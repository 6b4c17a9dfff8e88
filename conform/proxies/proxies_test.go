// Package proxies drives the proxies of examples/proxies with a real client: each asks one
// Headgate in front of one upstream.
package proxies

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/conform/programs"
)

const examples = "../../examples/proxies/"

// proxy is a program with a configuration.
type proxy struct {
	name   string
	listen string // as the configuration has it
	start  func(t *testing.T, dir string) *exec.Cmd
	files  []string
}

var all = []proxy{
	{"nginx", "listen 8000;", startNginx, []string{"nginx.conf"}},
	{"haproxy", "127.0.0.1:8001", startHAProxy, []string{"haproxy.cfg", "headgate.lua"}},
	{"caddy", "127.0.0.1:8002", startCaddy, []string{"Caddyfile"}},
}

func startNginx(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	var b strings.Builder
	b.WriteString("daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n")
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&b, "%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	b.WriteString("include nginx.conf;\n}\n")
	write(t, dir, "main.conf", b.String())
	return exec.CommandContext(context.Background(), "nginx", "-p", dir, "-e", "stderr", "-c", "main.conf")
}

func startHAProxy(_ *testing.T, dir string) *exec.Cmd {
	c := exec.CommandContext(context.Background(), "haproxy", "-db", "-f", "haproxy.cfg")
	c.Dir = dir
	return c
}

func startCaddy(_ *testing.T, dir string) *exec.Cmd {
	c := exec.CommandContext(context.Background(), "caddy", "run", "--config", "Caddyfile", "--adapter", "caddyfile")
	c.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	c.Dir = dir
	return c
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// open starts a proxy with the example's files, in which only the addresses are the
// test's, and returns its own.
func (p *proxy) open(t *testing.T, decider, upstream string) string {
	t.Helper()
	programs.Tool(t, p.name)
	dir, own := t.TempDir(), "127.0.0.1:"+strconv.Itoa(programs.FreePort(t))
	listen := own
	if p.name == "nginx" {
		listen = "listen " + own + ";"
	}
	here := strings.NewReplacer(p.listen, listen, "127.0.0.1:8080", decider, "127.0.0.1:9000", upstream)
	for _, name := range p.files {
		text, err := os.ReadFile(examples + name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, here.Replace(string(text)))
	}
	log := programs.Run(t, p.start(t, dir))
	for range 200 {
		c, err := net.Dial("tcp", own)
		if err == nil {
			_ = c.Close()
			return own
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("%s does not listen: %s", p.name, log)
	return ""
}

// answer is what the client sees.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request; each header is a text such as "X-Forwarded-For: 192.0.2.1".
func send(t *testing.T, method, url string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if r.Header.Add(name, value); name == "Host" {
			r.Host = value
		}
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{got.StatusCode, got.Header, string(body)}
}

// TestProxiesShareALimit: a client that goes through nginx, HAProxy and Caddy in turns has
// one limit, whatever it claims to be, and sees it in the headers.
func TestProxiesShareALimit(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, "upstream ", r.Method, " ", r.URL)
	}))
	defer upstream.Close()
	decider := programs.Serve(t, 1, "serve", "--config", examples+"policies.yaml", "--resp", "off", "--http", "127.0.0.1:0", "--drain", "0s")["http"]
	var proxies []string
	for _, p := range all {
		proxies = append(proxies, "http://"+p.open(t, decider, strings.TrimPrefix(upstream.URL, "http://")))
	}
	for i, url := range proxies {
		if got := send(t, http.MethodGet, url+"/free?deny=500"); got.status != http.StatusOK || got.body != "upstream GET /free?deny=500" || got.header["Ratelimit"] != nil {
			t.Errorf("%s, without a route: %+v", all[i].name, got)
		}
	}
	for i := range 6 {
		which := i % len(proxies)
		got := send(t, http.MethodGet, proxies[which]+"/api/things", "X-Forwarded-For: 203.0.113."+fmt.Sprint(i), "RateLimit: forged")
		if want := fmt.Sprintf(`"api";r=%d;t=`, 5-i); got.status != http.StatusOK || got.body != "upstream GET /api/things" ||
			!strings.HasPrefix(got.header.Get("Ratelimit"), want) || got.header.Get("Ratelimit-Policy") != `"api";q=6;w=60` {
			t.Errorf("%s, request %d: %+v, want %s", all[which].name, i+1, got, want)
		}
	}
	for i, url := range proxies {
		got := send(t, http.MethodGet, url+"/api/things")
		if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" || got.header.Get("Content-Type") != "application/problem+json" ||
			!strings.Contains(got.body, "quota-exceeded") || !strings.HasPrefix(got.header.Get("Ratelimit"), `"api";r=0;t=`) {
			t.Errorf("%s, denied: %+v", all[i].name, got)
		}
		// Descriptions that only clients send are removed, not believed.
		got = send(t, http.MethodGet, url+"/api/things", "X-Original-URL: http://x/free", "X-Original-URI: /free", "X-Forwarded-Uri: /free",
			"X-Forwarded-Method: POST", "X-Original-Method: POST", "X-Forwarded-Host: elsewhere.example")
		if got.status != http.StatusTooManyRequests {
			t.Errorf("%s believed a client: %+v", all[i].name, got)
		}
		// A Host that a URL would read as the end of its path.
		for _, host := range []string{"a?", "a?b", "a#"} {
			if got := send(t, http.MethodGet, url+"/api/things", "Host: "+host); strings.HasPrefix(got.body, "upstream") {
				t.Errorf("%s passed a request for the host %s: %+v", all[i].name, host, got)
			}
		}
	}
}
