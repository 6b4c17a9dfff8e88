package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	_ "time/tzdata"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// whole is a policies file with most of the fields. It is also a seed for FuzzParse and an example for the schema.
const whole = `x-defaults: {fast: &fast {algorithm: token-bucket, rate: 50/s, burst: 9}}
policies:
  api:    {algorithm: token-bucket, rate: 100/s, burst: 200, failure: deny, mode: exact, headers: draft}
  reply:  {algorithm: sliding-log, windows: [{limit: 5, window: 1m}, {limit: 50, window: 1h}]}
  daily:  {algorithm: fixed-window, limit: 10000, window: 1d, align: Asia/Shanghai, shadow: true}
  both:   {all: [api, {name: total, algorithm: fixed-window, limit: 1000000, window: 1d, align: UTC}, 5/1m]}
  month:  {algorithm: fixed-window, limit: 5, window: 1mo, align: UTC, count_denied: true}
  seg:    {algorithm: sliding-window, windows: [{limit: 5, window: 1s}, {limit: 50, window: 1m}], segment: 100ms, variant: strict}
  weigh:  {algorithm: sliding-window, limit: 10, window: 1m, segments: 6, variant: weighted}
  pace:   {algorithm: pacer, rate: 10/s, max_wait: 2s, max_queue: 5, burst: 3}
  owing:  {algorithm: gcra, rate: 30/60s, debt: 4}
  text:   100/s burst 200
  nobody: {deny: true}
  trial:  {algorithm: gcra, rate: 9/s, shadow: {algorithm: fixed-window, limit: 5, window: 1s}}
  merged: {<<: *fast, burst: 5}
overrides:
  - {policy: api, key: "partner-*", set: {rate: 1000/s, burst: 2000}}
  - {policy: api, key: "partner-a*z", set: {algorithm: fixed-window, limit: 1, window: 1s}}
  - {policy: api, key: "10.0.0.9", deny: true}
  - {policy: api, key: health, unlimited: true}
trusted_proxies: [10.0.0.0/8, "::1"]
routes:
  - match: {host: "*.example.com", path: "/v1/users/{id}/**", method: [POST, PUT], header: {X-Plan: free}, query: {v: "2"}, client: [203.0.113.0/24], when: 'request.size < 1000'}
    key: [{path: id}, {header: X-User}, {client_ip: {v6_prefix: 56}}, {cookie: sid}, {query: token}, {jwt: {header: Authorization, claim: sub}}, {const: all}]
    empty_key: skip
    cost: {header: X-Cost, max: 100}
    policies: [api, both]
  - {key: [{client_ip: {}}], cost: 2, policies: [api]}
listeners:
  resp: {address: "127.0.0.1:7000"}
  http: {address: "off"}
  grpc: {address: "127.0.0.1:7001", tls: {cert: c.pem, key: k.pem, client_ca: ca.pem}}
  admin: {address: "127.0.0.1:7002", token_file: tokens}
store: {url: memory}
`

func TestParseReadsEveryField(t *testing.T) {
	c, err := policy.Parse("whole.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	listeners := policy.Listeners{
		RESP: policy.Listener{Address: "127.0.0.1:7000"}, HTTP: policy.Listener{Address: "off"},
		GRPC:  policy.Listener{Address: "127.0.0.1:7001", TLS: policy.TLSFiles{Cert: "c.pem", Key: "k.pem", ClientCA: "ca.pem"}},
		Admin: policy.Listener{Address: "127.0.0.1:7002", TokenFile: "tokens"},
	}
	if c.Listeners != listeners || c.Store != "memory" {
		t.Errorf("listeners and store: %+v", c)
	}
	for name, want := range map[string][]string{
		"api":    {"100/s burst 200"},
		"reply":  {"sliding-log 5/1m 50/1h"},
		"daily":  {"fixed-window 10000/1d align Asia/Shanghai"},
		"both":   {"100/s burst 200", `fixed-window 1000000/1d align UTC name "total"`, `5/1m name "3"`},
		"month":  {"fixed-window 5/1mo align UTC count_denied"},
		"seg":    {"sliding-window 5/s 50/1m segment 100ms strict"},
		"weigh":  {"sliding-window 10/1m segments 6 weighted"},
		"pace":   {"pacer 10/s burst 3 max_wait 2s max_queue 5"},
		"owing":  {"30/1m debt 4"},
		"text":   {"100/s burst 200"},
		"nobody": {"deny"},
		"trial":  {"9/s"},
		"merged": {"50/s burst 5"},
	} {
		p, ok := c.Policies.Get(name)
		if !ok || !slices.Equal(p.Limits(), want) {
			t.Errorf("%s: %v, want %v", name, p.Limits(), want)
		}
	}
}

func TestOverridesApplyByPrecedence(t *testing.T) {
	c, err := policy.Parse("whole.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	api, _ := c.Policies.Get("api")
	both, _ := c.Policies.Get("both")
	for key, want := range map[string]string{
		"joe": "100/s burst 200", "partner-": "1000/s burst 2000", "partner-x": "1000/s burst 2000",
		"partner-abz": "fixed-window 1/s", "partner-az": "fixed-window 1/s", "xpartner-": "100/s burst 200",
		"10.0.0.9": "deny", "health": "unlimited", "healthy": "100/s burst 200",
	} {
		for name, p := range map[string]*policy.Policy{"api": api, "both": both} {
			charges := p.Charges(nil, key, 1)
			if got := charges[0].Limit.String(); got != want {
				t.Errorf("%s for key %q: %s, want %s", name, key, got, want)
			}
			if charges[0].Space != "policy:api" || charges[0].Policy != "api" {
				t.Errorf("%s charges %+v, want the counter of api", name, charges[0])
			}
		}
	}
}

// TestLeasedLimits checks that the limits of leased policies and of their overrides are prefetched, each in its
// policy's namespace. A disabled policy and a deny override are left out.
func TestLeasedLimits(t *testing.T) {
	c, err := policy.Parse("x.yaml", []byte(`
policies:
  a: {algorithm: gcra, rate: 9/s, mode: leased}
  b: 9/s
  c: {algorithm: sliding-window, limit: 5, window: 1m, mode: leased}
  d: {algorithm: gcra, rate: 3/s, mode: leased, enabled: false}
  e: {all: [a, c]}
overrides:
  - {policy: a, key: "partner-*", set: {rate: 90/s}}
  - {policy: a, key: bad, deny: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.Policies.Leased())
	if want := "map[policy:a:[90/s 9/s] policy:c:[sliding-window 5/1m segments 50 strict]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDefaultName checks that a limit of "all" that is named default keeps the counter of a policy's single limit, so
// that a second limit can be added without a fresh start of the first (regression: bug 267).
func TestDefaultName(t *testing.T) {
	c, err := policy.Parse("x.yaml", []byte("policies: {a: {all: [{name: default, algorithm: fixed-window, limit: 5, window: 1h}, fixed-window 9/1d]}}"))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := c.Policies.Get("a")
	for i, want := range []string{engine.DefaultName, "2"} {
		if got := p.Charges(nil, "k", 1)[i].Limit.Name(); got != want {
			t.Errorf("limit %d is named %q, want %q", i+1, got, want)
		}
	}
}

// TestReload checks that a file is parsed again only if its text has changed.
func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policies.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reader := policy.Reader{}
	write("policies: {a: 1/s}")
	first, err := policy.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := reader.Reload(path, first); err != nil || same != first {
		t.Errorf("the same text was parsed again: %v", err)
	}
	write("policies: {a: 2/s}")
	next, err := reader.Reload(path, first)
	if err != nil || next == first {
		t.Fatalf("another text was not read: %v", err)
	}
	if p, ok := next.Policies.Get("a"); !ok || p.Limits()[0] != "2/s" {
		t.Errorf("read %v", p)
	}
	write("policies: {a: 2}")
	if _, err := reader.Reload(path, next); err == nil {
		t.Error("a file with an error was accepted")
	}
}

// TestReaderPauses checks that Pause is called often while a file is read and while changes are applied to it, and
// that it does not affect the result.
func TestReaderPauses(t *testing.T) {
	var file strings.Builder
	file.WriteString("policies:\n")
	const policies = 1000
	for i := range policies {
		fmt.Fprintf(&file, "  p%d: {algorithm: token-bucket, rate: %d/s}\n", i, i+1)
	}
	pauses := 0
	config, err := policy.Reader{Pause: func() { pauses++ }}.Parse("p.yaml", []byte(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	if pauses < 3*policies {
		t.Errorf("%d pauses while %d policies are read, want at least 3 a policy", pauses, policies)
	}
	if plain, err := policy.Parse("p.yaml", []byte(file.String())); err != nil || !plain.Equal(config) {
		t.Errorf("pauses change what is read: %v", err)
	}
	pauses = 0
	if _, left := config.With([]policy.Change{{Policy: "p5", Fields: `"9/s"`}}); len(left) > 0 || pauses < policies {
		t.Errorf("%d pauses while a change is put on top, want at least one a policy: %v", pauses, left)
	}
}

// Both in a file and in a request, deny and unlimited can be items of "all", like other limits written as text.
func TestConstantsInAll(t *testing.T) {
	c, err := policy.Parse("p.yaml", []byte(`policies: {a: 5/s, both: {all: [a, deny, 9/m, unlimited]}}`))
	if err != nil {
		t.Fatal(err)
	}
	both, _ := c.Policies.Get("both")
	want := []string{"5/s", "deny", `9/1m name "3"`, "unlimited"}
	if got := both.Limits(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var spec policy.LimitSpec
	if err := json.Unmarshal([]byte(`{"all": ["5/s", "deny", {"unlimited": true}]}`), &spec); err != nil {
		t.Fatal(err)
	}
	limits, err := spec.Limits()
	if got := fmt.Sprint(limits); err != nil || got != `[5/s name "1" deny unlimited]` {
		t.Errorf("%s, %v", got, err)
	}
}
