package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	_ "time/tzdata"

	"github.com/headgate/headgate/policy"
)

// whole has every field that a policies file can have.
const whole = `policies:
  api:    {algorithm: token-bucket, rate: 100/s, burst: 200, failure: deny, mode: exact, headers: draft}
  reply:  {algorithm: sliding-log, windows: [{limit: 5, window: 1m}, {limit: 50, window: 1h}]}
  daily:  {algorithm: fixed-window, limit: 10000, window: 1d, align: Asia/Shanghai, shadow: true}
  both:   {all: [api, {name: total, algorithm: fixed-window, limit: 1000000, window: 1d, align: UTC}, 5/1m]}
  month:  {algorithm: fixed-window, limit: 5, window: 1mo, align: UTC, count_denied: true}
  seg:    {algorithm: sliding-window, windows: [{limit: 5, window: 1s}, {limit: 50, window: 1m}], segment: 100ms, variant: strict}
  weigh:  {algorithm: sliding-window, limit: 10, window: 1m, segments: 6}
  pace:   {algorithm: pacer, rate: 10/s, max_wait: 2s, max_queue: 5, burst: 3}
  owing:  {algorithm: gcra, rate: 30/60s, debt: 4}
  text:   100/s burst 200
  nobody: {deny: true}
overrides:
  - {policy: api, key: "partner-*", set: {rate: 1000/s, burst: 2000}}
  - {policy: api, key: "partner-a*z", set: {algorithm: fixed-window, limit: 1, window: 1s}}
  - {policy: api, key: "10.0.0.9", deny: true}
  - {policy: api, key: health, unlimited: true}
listeners:
  resp: {address: "127.0.0.1:7000"}
  http: {address: "off"}
store: {url: memory}
`

func TestParseReadsEveryField(t *testing.T) {
	c, err := policy.Parse("whole.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if c.RESP != "127.0.0.1:7000" || c.HTTP != "off" || c.Store != "memory" {
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

// TestParseErrorsSayWhereAndWhatIsAccepted: each error is one line with the position and
// with what is accepted.
func TestParseErrorsSayWhereAndWhatIsAccepted(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"policies:\n  a: {algorithm: token-bucket, rat: 1/s}\n", "x.yaml:2:32: unknown field"},
		{"policies:\n  a: {algorithm: token-bucket, rate: 1/s, rate: 2/s}\n", "x.yaml:2:43: mapping key \"rate\" already defined"},
		{"polices: {}\n", "x.yaml:1:1: unknown field"},
		{"policies: [\n", "x.yaml:1:11: "},
		{"policies:\n  a:\n    algorithm: magic\n", "x.yaml:3:16: policies.a.algorithm: algorithm is \"magic\"; accepted: token-bucket (gcra"},
		{"policies:\n  a: {algorithm: concurrency, limit: 5}\n", "x.yaml:2:18: policies.a.algorithm: algorithm is \"concurrency\"; accepted: token-bucket (gcra, leaky-bucket, funnel), pacer, fixed-window, sliding-window, sliding-log; or deny: true, unlimited: true, all: [...]; concurrency is not supported yet: acquire does not exist on the wires"},
		{"policies:\n  a: concurrency 5\n", "x.yaml:2:6: policies.a: algorithm is \"concurrency\"; accepted: token-bucket"},
		{"policies:\n  a: {all: [{algorithm: concurrency, limit: 5}]}\n", "x.yaml:2:25: policies.a.all.0.algorithm: algorithm is \"concurrency\""},
		{"policies: {a: {algorithm: gcra, rate: 1/s}}\noverrides:\n  - {policy: a, key: b, set: {algorithm: concurrency, limit: 5}}\n", "x.yaml:3:42: overrides.0.set.algorithm: algorithm is \"concurrency\""},
		{"policies:\n  a: {algorithm: sliding-log, windows: [{limit: 5, window: 1m}, {limit: 100001, window: 1h}]}\n", "x.yaml:2:73: policies.a.windows.1.limit: limit is 100001"},
		{"policies:\n  a:\n    algorithm: token-bucket\n    rate: 0/s\n", "x.yaml:4:11: policies.a.rate: rate is 0; accepted: 1 to 4294967295"},
		{"policies:\n  a: {algorithm: token-bucket, rate: 1/s, burst: 0}\n", "x.yaml:2:50: policies.a.burst: burst is 0; accepted: 1 to"},
		{"policies:\n  a: {algorithm: token-bucket, rate: 1/s, burst: 1.5}\n", "x.yaml:2:50: \"1.5\" is not a whole number"},
		{"policies:\n  a: {algorithm: token-bucket, rate: 1/s, burst: \"2\"}\n", "is not a whole number"},
		{"policies:\n  a: {algorithm: token-bucket, rate: 1/s, burst: 99999999999999999999}\n", "is not a whole number"},
		{"policies:\n  a: {algorithm: token-bucket, rate: 1/s, burst: 1e}\n", "not a whole number"},
		{"policies:\n  a: {algorithm: token-bucket, limit: 5, window: 1m}\n", "policies.a.limit: limit is set; accepted: no such field on token-bucket"},
		{"policies:\n  a: {algorithm: pacer, rate: 1/s}\n", "policies.a.max_wait: max_wait is not set"},
		{"policies:\n  a: {algorithm: pacer, rate: 1/s, max_wait: 5}\n", "policies.a.max_wait: duration is \"5\"; accepted: a whole duration with its unit"},
		{"policies:\n  a: {algorithm: fixed-window, limit: 5, window: 1mo}\n", "policies.a.window: window is 5/1mo; accepted: calendar months"},
		{"policies:\n  a: {algorithm: fixed-window, limit: 5, window: 1d, align: Mars/Base}\n", "x.yaml:2:61: policies.a.align: align is \"Mars/Base\""},
		{"policies:\n  a: {algorithm: sliding-log, windows: []}\n", "policies.a.windows: windows is empty"},
		{"policies:\n  a: {algorithm: sliding-log, windows: [{limit: 5, window: 1m}, {limit: 5, window: 1h}]}\n", "each shorter window with a smaller limit"},
		{"policies:\n  a: {algorithm: sliding-log, windows: [{limit: 5, window: 1m}, {limit: 5}]}\n", "x.yaml:2:65: policies.a.windows.1.window: window is not set"},
		{"policies:\n  a: {algorithm: sliding-log, limit: 100001, window: 1m}\n", "use sliding-window strict"},
		{"policies:\n  a: {deny: true, rate: 1/s}\n", "policies.a.rate: rate is set; accepted: no other fields beside deny"},
		{"policies:\n  a: {all: [b]}\n", "x.yaml:2:13: policies.a.all.0: no policy \"b\" in this file"},
		{"policies:\n  a: {all: [b]}\n  b: {all: [a]}\n", "policies that do not contain themselves"},
		{"policies:\n  a: {all: [b, b]}\n  b: 1/s\n", "token-bucket default twice"},
		{"policies:\n  a: {all: []}\n", "policies.a.all: all is empty"},
		{"policies:\n  a:\n", "policies.a: empty; accepted: a limit such as"},
		{"policies:\n  a b: 1/s\n", "policy name \"a b\"; accepted: 1 to 64 of"},
		{"policies:\n  a: {deny: true, failure: local}\n", "policies.a.failure: failure is \"local\"; accepted: deny, allow; local is not supported yet"},
		{"policies:\n  a: {deny: true, mode: leased}\n", "x.yaml:2:25: policies.a.mode: mode is leased for deny; accepted: token buckets without debt"},
		{"policies:\n  a: {algorithm: pacer, rate: 1/s, max_queue: 1, mode: leased}\n", "policies.a.mode: mode is leased for pacer 1/s"},
		{"policies:\n  a: {algorithm: fixed-window, limit: 1, window: 1s, count_denied: true, mode: leased}\n", "that do not count their denials"},
		{"policies:\n  a: {algorithm: gcra, rate: 9/s, mode: leased, cost: 2}\n", "policies.a.mode: mode is leased beside cost 2; accepted: leased where a request costs 1"},
		{"policies:\n  a: {all: [b], mode: leased}\n  b: 1/s\n", "policies.a.mode: mode is leased beside all; accepted: exact"},
		{"policies:\n  a: {algorithm: gcra, rate: 9/s, mode: fast}\n", "policies.a.mode: mode is \"fast\"; accepted: exact, leased"},
		{"policies:\n  a: {deny: true, headers: spring}\n", "spring is not supported yet"},
		{"policies:\n  a: {deny: true, cost: -1}\n", "policies.a.cost: cost is -1; accepted: 0 to 4294967295"},
		{"overrides:\n  - {policy: a, key: b, deny: true}\n", "x.yaml:2:14: overrides.0.policy: policy is \"a\"; accepted: the name of a policy in this file"},
		{"policies: {a: 1/s}\noverrides:\n  - {policy: a, key: b}\n", "overrides.0.set: set is 0 of set, deny, unlimited"},
		{"policies: {a: {algorithm: gcra, rate: 1/s}}\noverrides:\n  - {policy: a, key: b, set: {burst: -1}}\n", "x.yaml:3:38: overrides.0.set.burst: burst is -1"},
		{"trusted_proxies: [10.0.0.0/8]\n", "x.yaml:1:18: trusted_proxies: not supported yet"},
		{"routes: [{policies: [a]}]\n", "routes: not supported yet"},
		{"upstreams: {a: b}\n", "upstreams: not supported yet"},
		{"listeners: {grpc: {address: x}}\n", "listeners.grpc: not supported yet"},
		{"listeners: {resp: {tls: {cert: c}}}\n", "listeners.resp.tls: not supported yet"},
		{"store: {url: \"http://localhost\"}\n", "store.url: url is \"http://localhost\"; accepted: memory, redis://"},
		{"a: 1\n---\nb: 2\n", "more than one YAML document"},
	} {
		_, err := policy.Parse("x.yaml", []byte(c.file))
		position := (*policy.Error)(nil)
		if !errors.As(err, &position) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\n got %v\nwant %s", c.file, err, c.want)
			continue
		}
		if position.Line > 1 && !strings.Contains(position.Excerpt, ">") {
			t.Errorf("%q: no excerpt: %q", c.file, position.Excerpt)
		}
	}
}

// TestLeasedLimits: prefetched are the limits of leased policies and of their overrides,
// each in the name space of its policy.
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
	if want := "map[policy:a:[90/s 9/s] policy:c:[sliding-window 5/1m segments 1 weighted]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// FuzzParse: an invalid file has an error with a position in it. The limits of a valid
// file print as texts that are read back as the same limits.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("policies: {a: {all: [b]}, b: 1/s}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 2000 {
			return // the YAML library is slow on deep nesting
		}
		c, err := policy.Parse("f", data)
		if err != nil {
			position := (*policy.Error)(nil)
			if !errors.As(err, &position) || position.Line < 1 {
				t.Fatalf("%q: error without a place: %v", data, err)
			}
			return
		}
		for _, name := range c.Policies.Names() {
			p, _ := c.Policies.Get(name)
			for _, text := range p.Limits() {
				spec := policy.LimitSpec{Text: text}
				if limit, err := spec.Build(); err != nil || limit.String() != text {
					t.Fatalf("limit %q reads back as %q, %v", text, limit, err)
				}
			}
		}
	})
}
