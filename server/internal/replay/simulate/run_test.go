package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, time.November, 22, 14, 0, 0, 0, time.UTC).UnixMicro()

const precise = `$msec $remote_addr "$request" $status`

// entry is a line in a log: the client, the path, and the time in seconds after the start.
type entry struct {
	after  float64
	client string
	path   string
}

// logOf returns a log with the given entries.
func logOf(t *testing.T, entries []entry) *accesslog.Log {
	t.Helper()
	var b strings.Builder
	for _, e := range entries {
		at := start + int64(e.after*1e6+0.5)
		fmt.Fprintf(&b, "%d.%06d %s \"GET %s HTTP/1.1\" 200\n", at/1e6, at%1e6, e.client, e.path)
	}
	return logOfLines(t, b.String())
}

// logOfLines returns a log with the lines in text.
func logOfLines(t *testing.T, text string) *accesslog.Log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := accesslog.Open([]string{path}, nil, accesslog.Options{Format: precise})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func configOf(t *testing.T, text string) Config {
	t.Helper()
	c, err := policy.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Config{Policies: c, File: "p.yaml", MaxKeys: DefaultMaxKeys, Top: 5}
}

func run(t *testing.T, text string, entries []entry) *Result {
	t.Helper()
	r, err := Run(t.Context(), logOf(t, entries), configOf(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const two = `
policies:
  few:  {algorithm: fixed-window, limit: 2, window: 10s}
  each: {algorithm: token-bucket, rate: 1/s, burst: 3, shadow: true}
routes:
  - {match: {path: "/a/{id}"}, key: [{client_ip: {}}], policies: [few, each]}
  - {match: {path: "/b"}, key: [{query: q}], policies: [few]}
`

func TestResultCountsByRoutePolicyAndKey(t *testing.T) {
	text := two
	r := run(t, text, []entry{
		{0, "10.0.0.1", "/a/1"},
		{1, "10.0.0.1", "/a/2"},
		{1.5, "10.0.0.2", "/a/2"},
		{2, "10.0.0.1", "/a/33"},
		{4, "10.0.0.1", "/a/4"},
		{4.5, "10.0.0.1", "/a/5"},
		{5, "10.0.0.1", "/other"},
		{6, "10.0.0.1", "/b"},
		{12, "10.0.0.1", "/a/6"},
	})
	if r.Requests != 9 || r.Denied != 4 || r.Admitted != 5 || r.Unmatched != 1 || r.Keys != 2 || r.DeniedKeys != 1 {
		t.Errorf("%+v", r)
	}
	a, b := r.Routes[0], r.Routes[1]
	if a.Requests != 7 || a.Admitted != 4 || a.Denied != 3 || b.Requests != 1 || b.NoKey != 1 || b.Denied != 1 {
		t.Errorf("routes %+v %+v", a, b)
	}
	few := r.Policies[0]
	if few.Name != "few" || few.Requests != 7 || few.Denied != 3 || few.FirstDenied != start+2_000_000 || few.LastDenied != start+4_500_000 {
		t.Errorf("policy %+v", few)
	}
	if each := r.Policies[1]; each.ShadowAsked != 7 || each.ShadowDenied != 0 || each.Denied != 0 {
		t.Errorf("shadow %+v", each)
	}
	want := KeyReport{
		Key: "10.0.0.1", Requests: 6, Denied: 3, By: []PolicyCount{{"few", 3}},
	}
	if !reflect.DeepEqual(r.Top, []KeyReport{want}) {
		t.Errorf("top %+v, want %+v", r.Top, want)
	}
}

func TestComparisonNamesWinnersAndLosers(t *testing.T) {
	const file = "policies: {p: {algorithm: fixed-window, limit: %d, window: 10s}}\noverrides: [{policy: p, key: 10.0.0.9, set: {limit: %d}}]\nroutes: [{key: [{client_ip: {}}], policies: [p]}]"
	var entries []entry
	for i := range 5 {
		entries = append(entries, entry{float64(i), "10.0.0.1", "/x"}, entry{float64(i) + 0.5, "10.0.0.9", "/y"}, entry{float64(i) + 0.7, fmt.Sprintf("10.0.1.%d", i), "/z"})
	}
	r, err := Compare(t.Context(), logOf(t, entries), configOf(t, fmt.Sprintf(file, 4, 1)), configOf(t, fmt.Sprintf(file, 2, 5)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != 15 || r.OldDenied != 5 || r.NewDenied != 3 || r.Lost != 2 || r.Won != 4 || r.LosingKeys != 1 || r.WinningKeys != 1 {
		t.Errorf("%+v", r)
	}
	if want := []KeyChange{{"10.0.0.1", 5, 1, 3, 2, 0}}; !reflect.DeepEqual(r.Losers, want) {
		t.Errorf("losers %+v", r.Losers)
	}
	if want := []KeyChange{{"10.0.0.9", 5, 4, 0, 0, 4}}; !reflect.DeepEqual(r.Winners, want) {
		t.Errorf("winners %+v", r.Winners)
	}
	if c := r.First[0]; c.Line != 5 || c.Old != "denied by p" || c.New != "passes" || c.Path != "/y" || len(r.First) != 6 {
		t.Errorf("first %+v", r.First)
	}
}

func TestComparisonNamesTheKeysOfBothFiles(t *testing.T) {
	const file = "policies: {p: {algorithm: fixed-window, limit: %d, window: 10s}}\nroutes: [{key: [%s], policies: [p]}]"
	entries := []entry{{0, "10.0.0.1", "/x"}, {1, "10.0.0.1", "/x"}, {2, "10.0.0.2", "/x"}}
	r, err := Compare(t.Context(), logOf(t, entries), configOf(t, fmt.Sprintf(file, 9, "{client_ip: {}}")), configOf(t, fmt.Sprintf(file, 2, "{const: all}")))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.First) != 1 || r.First[0].Key != "all" || r.First[0].OldKey != "10.0.0.2" || r.Rekeyed != 3 {
		t.Errorf("%+v", r)
	}
}

func TestFullStoreGivesNoDecision(t *testing.T) {
	c := configOf(t, "policies: {p: {algorithm: token-bucket, rate: 1/1h, burst: 1}}\nroutes: [{key: [{client_ip: {}}], policies: [p]}]")
	c.MaxKeys = 3
	var entries []entry
	for i := range 5 {
		entries = append(entries, entry{float64(i), fmt.Sprintf("10.0.1.%d", i), "/"})
	}
	r, err := Run(t.Context(), logOf(t, entries), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed != 2 || r.Admitted != 3 || r.Denied != 0 || !strings.Contains(r.FirstError, "no room") {
		t.Errorf("%+v", r)
	}
}

func TestRoutesThatNeedMissingFieldsAreErrors(t *testing.T) {
	c := configOf(t, "policies: {p: 1/s}\nroutes: [{key: [{jwt: {claim: sub}}], policies: [p]}]")
	_, err := Run(t.Context(), logOf(t, []entry{{0, "10.0.0.1", "/"}}), c)
	if err == nil || !strings.Contains(err.Error(), "route 0 (p.yaml:2) needs the header Authorization") {
		t.Error(err)
	}
}

func TestClientOfATrustedProxyComesFromTheLog(t *testing.T) {
	line := func(peer, forwarded string) string {
		return fmt.Sprintf("%s - - [22/Nov/2026:14:05:09 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\" \"%s\"\n", peer, forwarded)
	}
	path := filepath.Join(t.TempDir(), "log")
	text := line("10.0.0.1", "198.51.100.7, 203.0.113.9") + line("192.0.2.5", "203.0.113.9") + line("10.0.0.1", "203.0.113.9")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := accesslog.Open([]string{path}, nil, accesslog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := configOf(t, "policies: {p: {algorithm: fixed-window, limit: 1, window: 1m}}\ntrusted_proxies: [10.0.0.0/8]\nroutes: [{key: [{client_ip: {}}], policies: [p]}]")
	r, err := Run(t.Context(), l, c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Keys != 2 || r.Denied != 1 || r.Top[0].Key != "203.0.113.9" {
		t.Errorf("%+v", r)
	}
}

func TestKeysBeyondTheBoundAreDecidedButNotListed(t *testing.T) {
	c := configOf(t, "policies: {p: {algorithm: fixed-window, limit: 1, window: 1s}}\nroutes: [{key: [{client_ip: {}}], policies: [p]}]")
	c.MaxKeys = 2
	var entries []entry
	for i := range 6 {
		at, client := float64(10*i), fmt.Sprintf("10.0.1.%d", i)
		entries = append(entries, entry{at, client, "/"}, entry{at + 0.1, client, "/"})
	}
	r, err := Run(t.Context(), logOf(t, entries), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Denied != 6 || r.Failed != 0 || r.Keys != 2 || r.OtherKeys != 8 || r.DeniedKeys != 2 {
		t.Errorf("%+v", r)
	}
}

// TestResultCountsEachCharge checks that a request with several keys is counted under each of them, and that a denial
// is counted under the key whose limit denied.
func TestResultCountsEachCharge(t *testing.T) {
	r := run(t, `
policies: {few: {algorithm: fixed-window, limit: 2, window: 10s}, day: {algorithm: fixed-window, limit: 6, window: 1d, align: UTC}}
routes: [{match: {path: /b}, charge: [{policy: few, key: [client_ip]}, {policy: day, key: [{query: q}], cost: 2}]}]
`, []entry{
		{0, "10.0.0.1", "/b?q=x"}, {1, "10.0.0.1", "/b?q=x"}, {2, "10.0.0.1", "/b?q=x"}, // the third is denied by few
		{3, "10.0.0.2", "/b?q=x"}, {4, "10.0.0.2", "/b?q=x"}, // the last is denied by day
	})
	if r.Requests != 5 || r.Denied != 2 || r.Keys != 3 || r.DeniedKeys != 2 {
		t.Errorf("%+v", r)
	}
	got := map[string]int64{}
	for _, k := range r.Top {
		got[k.Key] = k.Requests
		if k.Denied != 1 {
			t.Errorf("%+v", k)
		}
	}
	if got["10.0.0.1"] != 3 || got["x"] != 5 {
		t.Errorf("%v", got)
	}
	for _, p := range r.Policies {
		if p.Requests != 5 || p.Denied != 1 {
			t.Errorf("%+v", p)
		}
	}
}

// An adaptive rate falls with the failures in the log. It rises while failures are few and the rate is used.
func TestStatusesInTheLogMoveAnAdaptingRate(t *testing.T) {
	c := configOf(t, `
policies:
  vendor: {algorithm: adaptive-rate, rate: 100/s, min: 20, max: 200, burst: 10}
routes:
  - {key: [{const: vendor}], policies: [vendor]}
`)
	replayed := func(status func(second int) int) PolicyReport {
		t.Helper()
		var b strings.Builder
		for i := range 100 * 60 {
			at := start + int64(i)*10_000
			fmt.Fprintf(&b, "%d.%06d 10.0.0.1 \"GET / HTTP/1.1\" %d\n", at/1e6, at%1e6, status(i/100))
		}
		r, err := Run(t.Context(), logOfLines(t, b.String()), c)
		if err != nil {
			t.Fatal(err)
		}
		return r.Policies[0]
	}
	p := replayed(func(second int) int {
		switch {
		case second < 10:
			return 200
		case second < 30:
			return 503
		default:
			return 404 // not a failure of the upstream
		}
	})
	if p.Denied < 1000 {
		t.Errorf("%d denied, want 80 a second once the rate is 20", p.Denied)
	}
	if p := replayed(func(int) int { return 200 }); p.Denied != 0 {
		t.Errorf("%d denied without failures", p.Denied)
	}
}

// A request is counted once for a key, although two charges use the key.
func TestKeyOfTwoChargesIsCountedOnce(t *testing.T) {
	r := run(t, `
policies: {a: 1/1m, b: 5/1m}
routes:
  - charge: [{policy: a, key: [client_ip]}, {policy: b, key: [client_ip]}]
`, []entry{{0, "192.0.2.1", "/"}, {1, "192.0.2.1", "/"}, {2, "192.0.2.1", "/"}})
	if k := r.Top[0]; r.Denied != 2 || k.Requests != 3 || k.Denied != 2 {
		t.Errorf("%d denied; the key: %+v", r.Denied, k)
	}
}
