// Package proxies tests the proxies in examples/proxies with a real client. Each proxy calls one Headgate and forwards
// to one upstream.
package proxies

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/programs"
)

const examples = "../../examples/proxies/"

// proxy describes how to run a proxy program with its example configuration.
type proxy struct {
	name   string
	listen string // the address in the configuration
	start  func(t *testing.T, dir string) *exec.Cmd
	files  []string
	// two returns the changes that make the proxy use two Headgates. closed lists the changes that make it respond with
	// 503 if there is no decision.
	two    func(first, second string) []string
	closed []string
	// untrusted is the answer if Headgate does not trust the proxy. To nginx, Headgate answers 500 instead of 403.
	untrusted int
}

var all = []proxy{
	{
		"nginx", "listen 8000;", startNginx,
		[]string{"nginx.conf"},
		func(first, second string) []string {
			changes := []string{}
			for _, options := range []string{" max_fails=3 fail_timeout=1s;", " backup max_fails=0;"} {
				changes = append(changes, "server 127.0.0.1:8080"+options, "server "+first+options+"\nserver "+second+options)
			}
			return changes
		},
		[]string{"error_page 500 502 503 504 = @open;", ""},
		http.StatusServiceUnavailable,
	},
	{
		"haproxy", "127.0.0.1:8001", startHAProxy,
		[]string{"haproxy.cfg", "headgate.lua"},
		func(first, second string) []string {
			return []string{
				"server headgate1 127.0.0.1:8080 check", "server headgate1 " + first + " check\n    server headgate2 " + second + " check",
				"server backup1 127.0.0.1:8080 backup", "server backup1 " + first + " backup\n    server backup2 " + second + " backup",
			}
		},
		[]string{`undecided = "open"`, `undecided = "closed"`},
		http.StatusForbidden,
	},
	{
		"caddy", ":8002 {", startCaddy,
		[]string{"Caddyfile"},
		func(first, second string) []string {
			return []string{"forward_auth 127.0.0.1:8080 {", "forward_auth " + first + " " + second + " {"}
		},
		[]string{"reverse_proxy @undecided 127.0.0.1:9000", "respond @undecided 503"},
		http.StatusForbidden,
	},
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

// open starts a proxy with the example's files and returns the proxy's address. In the files it replaces only the
// addresses and the strings in changes, which lists each string followed by its replacement.
func (p *proxy) open(t *testing.T, decider, upstream string, changes ...string) string {
	t.Helper()
	programs.Tool(t, p.name)
	dir, own := t.TempDir(), "127.0.0.1:"+strconv.Itoa(programs.FreePort(t))
	listen := own
	switch p.name {
	case "nginx":
		listen = "listen " + own + ";"
	case "caddy":
		listen = own[strings.LastIndexByte(own, ':'):] + " {"
	}
	inside := "127.0.0.1:" + strconv.Itoa(programs.FreePort(t)) // HAProxy's script sends its requests to this address
	here := strings.NewReplacer(append(changes, "127.0.0.1:8003", inside, p.listen, listen, "127.0.0.1:8080", decider, "127.0.0.1:9000", upstream)...)
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

// answer is the response that the client receives.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request. Each header is given as a string such as "X-Forwarded-For: 192.0.2.1".
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

// TestProxiesShareALimit checks that a client that alternates between nginx, HAProxy and Caddy is counted under a
// single limit, whatever headers it sends, and that the response headers show the limit.
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
		// Headers that only clients would send are removed rather than trusted.
		got = send(t, http.MethodGet, url+"/api/things", "X-Original-URL: http://x/free", "X-Original-URI: /free", "X-Forwarded-Uri: /free",
			"X-Forwarded-Method: POST", "X-Original-Method: POST", "X-Forwarded-Host: elsewhere.example")
		if got.status != http.StatusTooManyRequests {
			t.Errorf("%s believed a client: %+v", all[i].name, got)
		}
		// Put into a URL, these hosts would end the path.
		for _, host := range []string{"a?", "a?b", "a#"} {
			if got := send(t, http.MethodGet, url+"/api/things", "Host: "+host); strings.HasPrefix(got.body, "upstream") {
				t.Errorf("%s passed a request for the host %s: %+v", all[i].name, host, got)
			}
		}
	}
}

const keyed = `
policies: {api: {algorithm: fixed-window, limit: 1000000, window: 1h}}
trusted_proxies: [127.0.0.0/8]
routes: [{match: {path: "/keyed"}, key: [{header: X-Api-Key}], policies: [api]}, {match: {path: "/api/**"}, key: [client_ip], policies: [api]}]
`

// decider starts a Headgate with a policies file. The stop function shuts it down as for a restart.
func decider(t *testing.T, policies, address string) (own string, stop func()) {
	t.Helper()
	d := startDecider(t, policies, address)
	return d.address, d.stop
}

// headgate is a running server.
type headgate struct {
	address string
	cmd     *exec.Cmd
	stop    func()
}

func startDecider(t *testing.T, policies, address string) headgate {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "policies.yaml", policies)
	c := exec.CommandContext(context.Background(), programs.Headgate(t), "serve", "--config", filepath.Join(dir, "policies.yaml"), "--resp", "off", "--http", address, "--drain", "0s")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, own, ok := strings.Cut(strings.TrimSpace(line), " listening on ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	stop := sync.OnceFunc(func() {
		_ = c.Process.Signal(syscall.SIGCONT)
		_ = c.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, out)
		_ = c.Wait()
	})
	t.Cleanup(stop)
	return headgate{own, c, stop}
}

// TestThroughRestarts restarts two Headgates in turn. The proxy's clients must not notice.
func TestThroughRestarts(t *testing.T) {
	for i := range all {
		t.Run(all[i].name, func(t *testing.T) { throughRestarts(t, &all[i]) })
	}
}

func throughRestarts(t *testing.T, p *proxy) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "upstream") }))
	defer upstream.Close()
	first, stop1 := decider(t, keyed, "127.0.0.1:0")
	second, stop2 := decider(t, keyed, "127.0.0.1:0")
	// The example's timeouts are too short for a machine that is busy with other tests.
	patient := []string{
		"timeout connect 100ms", "timeout connect 5s", "timeout server 250ms", "timeout server 10s", "timeout = 1000 ", "timeout = 20000 ",
		"dial_timeout 100ms", "dial_timeout 5s", "response_header_timeout 250ms", "response_header_timeout 10s", "lb_try_duration 500ms", "lb_try_duration 10s",
	}
	url := "http://" + p.open(t, first, strings.TrimPrefix(upstream.URL, "http://"), slices.Concat(patient, p.two(first, second), p.closed)...)
	ended := make(chan struct{})
	statuses := make(chan map[int]int)
	var inFlight sync.RWMutex
	for range 4 {
		go func() {
			seen := map[int]int{}
			defer func() { statuses <- seen }()
			for {
				select {
				case <-ended:
					return
				default:
					inFlight.RLock()
					seen[send(t, http.MethodGet, url+"/api/things").status]++
					inFlight.RUnlock()
				}
			}
		}()
	}
	// A request that found one Headgate down must not find the other down too, so it must end before the next restart.
	settled := func() {
		inFlight.Lock()
		defer inFlight.Unlock()
	}
	for range 2 {
		stop1()
		_, stop1 = decider(t, keyed, first)
		settled()
		stop2()
		_, stop2 = decider(t, keyed, second)
		settled()
	}
	close(ended)
	all := map[int]int{}
	for range 4 {
		for status, n := range <-statuses {
			all[status] += n
		}
	}
	if len(all) != 1 || all[http.StatusOK] < 20 {
		t.Errorf("statuses during restarts: %v", all)
	}
}

// TestWithoutADecision checks that each cause of a missing decision results in its own response, and that no such
// response looks like a denial.
func TestWithoutADecision(t *testing.T) {
	for i := range all {
		t.Run(all[i].name, func(t *testing.T) { withoutADecision(t, &all[i]) })
	}
}

func withoutADecision(t *testing.T, p *proxy) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "upstream") }))
	defer upstream.Close()
	backend := strings.TrimPrefix(upstream.URL, "http://")
	own, stop := decider(t, keyed, "127.0.0.1:0")
	foreign, _ := decider(t, strings.Replace(keyed, "127.0.0.0/8", "192.0.2.0/24", 1), "127.0.0.1:0")
	opens, closes := "http://"+p.open(t, own, backend), "http://"+p.open(t, own, backend, p.closed...)
	if got := send(t, http.MethodGet, opens+"/keyed"); got.status != http.StatusBadRequest || strings.Contains(got.body, "quota") {
		t.Errorf("without a key: %+v", got)
	}
	if got := send(t, http.MethodGet, "http://"+p.open(t, foreign, backend, p.closed...)+"/api/x"); got.status != p.untrusted || strings.Contains(got.body, "quota") {
		t.Errorf("a Headgate that does not trust the proxy: %+v", got)
	}
	stop()
	if got := send(t, http.MethodGet, opens+"/api/x"); got.status != http.StatusOK || got.body != "upstream" {
		t.Errorf("Headgate away, open: %+v", got)
	}
	if got := send(t, http.MethodGet, closes+"/api/x"); got.status != http.StatusServiceUnavailable {
		t.Errorf("Headgate away, closed: %+v", got)
	}
}
