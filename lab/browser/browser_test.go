// Package browser runs the operator page in a real browser with real servers.
package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/lab/programs"
	"github.com/headgate/headgate/lab/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var seconds = flag.Int("seconds", 0, "how many seconds of snapshots an open tab receives, whose memory must not grow; 0 omits this part, which takes a quarter of the time")

var screenshots = flag.String("screenshots", "", "a folder for pictures of the page")

const (
	admin = "token-that-administers-0123"
	read  = "token-that-may-look-0123"

	policies = `
policies:
  api: {algorithm: token-bucket, rate: 100/s, burst: 200}
  pages: 50/s
  login: {algorithm: fixed-window, limit: 5, window: 1m}
  search: {algorithm: sliding-window, limit: 600, window: 1m, segments: 60}
  day: {algorithm: fixed-window, limit: 3, window: 1d, align: UTC}
  strict: {algorithm: token-bucket, rate: 10/s, failure: deny}
  both: {all: [api, search]}
  a-policy-with-the-longest-name-that-a-policies-file-can-have-064: 50/s
  lanes: {algorithm: fixed-window, limit: 100, window: 1h, classes: [{name: live}, {name: batch, leaves: 40%}]}
  shares:
    classes: [{name: live}, {name: batch, leaves: 10%}]
    all: [{name: pool, algorithm: fair-share, rate: 40/s, burst: 200}, {name: offenders, algorithm: penalty, limit: 10, window: 10s, block: 30s}]
  vendor: {algorithm: adaptive-rate, rate: 100/s, min: 20, max: 500, burst: 50}
  plan: {all: [{algorithm: token-bucket, rate: 40/s}, {algorithm: fixed-window, limit: 100000, window: 1d}]}
overrides:
  - {policy: api, key: "partner-*", set: {rate: 1000/s, burst: 2000}}
`
)

// hostile lists keys that a careless page would treat as markup or code.
var hostile = []string{
	`<img src=x onerror="window.hacked=1;alert(1)">`, `"><script>window.hacked=1</script>`, "\u202etxet\u0000\u001b[31m", "{{constructor.constructor('window.hacked=1')()}}",
}

// world holds the servers that the browser connects to, and the traffic on them.
type world struct {
	t     *testing.T
	redis *redistest.Server
	take  string // the address for takes
	token string // the token file
	file  string // the policies file
	noise atomic.Pointer[string]
	// running counts the goroutines that send requests.
	running sync.WaitGroup
	// passed is the number of allowed requests for the noisy key.
	passed atomic.Int64
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPage drives the page with Chromium, using the script server/internal/page/web/test/page.mjs.
func TestPage(t *testing.T) {
	chromium, node := programs.Tool(t, "chromium"), programs.Tool(t, "node")
	web, err := filepath.Abs("../../server/internal/page/web")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(web, "node_modules/playwright-core")); err != nil {
		if out, err := exec.CommandContext(t.Context(), "npm", "ci", "--prefix", web).CombinedOutput(); err != nil {
			t.Fatalf("npm ci: %v\n%s", err, out)
		}
	}
	w := &world{t: t, redis: redistest.Standalone(t, redistest.Redis, "appendonly yes", "appendfsync always"), token: write(t, "token", admin+"\nread "+read+"\n")}
	w.file = write(t, "policies.yaml", policies)
	serve := func(more ...string) map[string]string {
		return programs.Serve(t, 2, append([]string{"serve", "--resp", "off", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--drain", "0s"}, more...)...)
	}
	// On a busy machine, a decision may take longer than the default deadline, and the store would count as
	// unavailable.
	shared := []string{"--deadline", "1s", "--config", w.file, "--store", "redis://" + w.redis.Addr(), "--expect-processes", "2", "--admin-token-file", w.token}
	guarded := serve(shared...)
	serve(shared...) // another process
	var many strings.Builder
	many.WriteString("policies:\n")
	for i := range 10_000 {
		fmt.Fprintf(&many, "  policy-%05d: {algorithm: token-bucket, rate: %d/s}\n", i, i+1)
	}
	open := serve("--config", write(t, "many.yaml", many.String()))
	rules := write(t, "shop.yaml", "domain: shop\ndescriptors:\n  - {key: user, rate_limit: {unit: hour, requests_per_unit: 50}}\n")
	envoy := serve("--envoy-config", filepath.Dir(rules), "--grpc", "off")
	w.take = "http://" + guarded["http"] + "/v1/allow"
	w.running.Go(w.traffic)
	t.Cleanup(func() {
		w.running.Wait()
		http.DefaultClient.CloseIdleConnections()
	})

	target := &url.URL{Scheme: "http", Host: guarded["admin"]}
	below := httptest.NewServer(http.StripPrefix("/ops/limits", httputil.NewSingleHostReverseProxy(target)))
	t.Cleanup(below.Close)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(out, "<!doctype html><title>another site</title><body>")
	}))
	t.Cleanup(elsewhere.Close)

	c := exec.CommandContext(t.Context(), node, "test/page.mjs")
	c.Dir = web
	c.Env = append(os.Environ(), "CHROMIUM="+chromium, "PROFILE="+t.TempDir(), "GUARDED=http://"+guarded["admin"],
		// A browser treats localhost and 127.0.0.1 as two sites.
		"ELSEWHERE="+strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1), "BELOW="+below.URL, "MANY=http://"+open["admin"],
		"ENVOY=http://"+envoy["admin"], "ENVOY_JSON=http://"+envoy["http"]+"/json",
		"ADMIN="+admin, "READ="+read, "SECONDS="+strconv.Itoa(*seconds))
	if *screenshots != "" {
		folder, err := filepath.Abs(*screenshots)
		if err != nil {
			t.Fatal(err)
		}
		c.Env = append(c.Env, "SCREENSHOTS="+folder)
	}
	w.drive(c)
}

// drive runs the browser's script, and executes the commands that the script prints.
func (w *world) drive(c *exec.Cmd) {
	t := w.t
	t.Helper()
	var log bytes.Buffer
	c.Stderr = &log
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text := lines.Text()
		if asked, ok := strings.CutPrefix(text, ">"); ok {
			fmt.Fprintln(in, w.do(asked))
			continue
		}
		t.Log(strings.TrimPrefix(text, "#"))
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &log)
	}
}

// do executes a command from the script and returns the result.
func (w *world) do(asked string) string {
	verb, key, _ := strings.Cut(asked, " ")
	switch verb {
	case "noise":
		w.noise.Store(&key)
	case "send":
		policy, key, _ := strings.Cut(key, " ")
		w.send(policy, key, 1)
	case "allowed": // this runs for a second of clock time, even if the machine is busy
		before, began := w.passed.Load(), time.Now()
		time.Sleep(time.Second)
		return strconv.FormatInt((w.passed.Load()-before)*int64(time.Second)/int64(time.Since(began)), 10)
	case "hostile":
		for _, key := range hostile {
			for range 3 {
				w.send("login", key, 20)
			}
		}
	case "long":
		for _, end := range []string{"a", "b"} {
			w.send("login", strings.Repeat("k", 1000)+end, 100)
		}
	case "stop":
		w.redis.Stop()
	case "lose":
		w.redis.Stop()
		w.redis.Wipe()
	case "start":
		w.redis.Start()
	case "revoke":
		return written(w.token, "another-token-0123456789")
	case "file": // without the policy, if there is one
		return written(w.file, strings.Replace(policies, "  "+key+":", "  other:", 1))
	default:
		return "error: unknown: " + asked
	}
	return "done"
}

// written replaces a file and returns the result of the command.
func written(name, text string) string {
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return "error: " + err.Error()
	}
	return "done"
}

// traffic sends requests until the test ends: about 300 per second, plus the requests for the noisy key.
func (w *world) traffic() {
	for n := 0; w.t.Context().Err() == nil; n++ {
		w.send("api", "steady", 4)
		w.send("search", "user-"+strconv.Itoa(n%7), 1)
		w.send("both", "10.0.0."+strconv.Itoa(n*n%23), 2)
		w.send("api", "10.0.0."+strconv.Itoa(n*n*n%31), 5)
		w.send("search", "user-"+strconv.Itoa(n*n%11), 2)
		w.send("strict", "steady", 1)
		w.send("pages", "reader", 2)
		if n < 5 {
			w.send("day", "spender", 1)
		}
		if key := w.noise.Load(); key != nil && *key != "" {
			policy, name, ok := strings.Cut(*key, " ")
			if !ok {
				policy, name = "api", *key
			}
			w.passed.Add(w.send(policy, name, 20))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// send sends requests for a key in one call, and returns the number of allowed requests.
func (w *world) send(policy, key string, times int) (allowed int64) {
	type request struct {
		Policy string `json:"policy"`
		Key    string `json:"key"`
	}
	var body struct {
		Requests []request `json:"requests"`
	}
	for range times {
		body.Requests = append(body.Requests, request{policy, key})
	}
	text, err := json.Marshal(body)
	if err != nil {
		return 0
	}
	answer, err := http.Post(w.take, "application/json", bytes.NewReader(text))
	if err != nil {
		return 0 // the servers have stopped
	}
	defer answer.Body.Close()
	var decided struct {
		Decisions []struct{ Allowed bool }
	}
	if json.NewDecoder(answer.Body).Decode(&decided) == nil {
		for _, d := range decided.Decisions {
			if d.Allowed {
				allowed++
			}
		}
	}
	return allowed
}
