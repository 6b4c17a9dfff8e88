package simulate

import (
	"errors"
	"fmt"
	"math/rand/v2"
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
	return Config{Policies: c, File: "p.yaml", Top: 5}
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
		Key: "10.0.0.1", Requests: 6, Denied: 3, First: start + 2_000_000, Last: start + 4_500_000,
		Longest: &Stretch{"10.0.0.1", start + 2_000_000, start + 4_500_000, 3},
		By:      []PolicyCount{{"few", 3}}, Patterns: []Pattern{{"GET /a/{}", 3}},
	}
	if !reflect.DeepEqual(r.Top, []KeyReport{want}) || !reflect.DeepEqual(r.Longest, want.Longest) {
		t.Errorf("top %+v, want %+v", r.Top, want)
	}
	if r.Cost.Calls != 8 || r.Cost.BusiestSecond != 2 || r.Cost.PeakStates != 4 {
		t.Errorf("cost %+v", r.Cost)
	}
	if r.Traffic.Slots[4].Denied != 2 || r.Traffic.Slots[1].Passed != 2 || r.Heat.Cells[6][14].Requests != 9 || r.Heat.Cells[6][14].Denied != 4 {
		t.Errorf("traffic %+v", r.Traffic)
	}
}

// TestCostOfASharedCounter checks that all keys under a fair share use one state.
func TestCostOfASharedCounter(t *testing.T) {
	text := "policies:\n  fair: {algorithm: fair-share, rate: 10/s}\n  each: 5/s\n" +
		"routes: [{match: {path: /a}, key: [client_ip], policies: [fair]}, {key: [client_ip], policies: [fair, each]}]\n"
	for path, want := range map[string]int64{"/a": 1, "/b": 3} {
		if r := run(t, text, []entry{{0, "10.0.0.1", path}, {0.1, "10.0.0.2", path}}); r.Cost.PeakStates != want {
			t.Errorf("%s: %+v, want %d states", path, r.Cost, want)
		}
	}
}

// TestAlternativesEqualARunOfTheAlgorithm compares the alternatives with a replay of a file that uses
// the other algorithm.
func TestAlternativesEqualARunOfTheAlgorithm(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var entries []entry
	for at := 0.0; len(entries) < 1500; at += r.ExpFloat64() * 0.05 {
		entries = append(entries, entry{at, fmt.Sprintf("10.0.0.%d", r.IntN(9)), "/"})
	}
	for range 5 { // few requests with many units each
		entries = append(entries, entry{1000, "10.0.9.9", "/"})
	}
	t.Run("cost of the route", func(t *testing.T) { compareAlternatives(t, entries, "1", "policies: [p], cost: 2") })
	t.Run("cost of the second policy", func(t *testing.T) { compareAlternatives(t, entries, "2", "policies: [free, p]") })
}

func compareAlternatives(t *testing.T, entries []entry, cost, route string) {
	t.Helper()
	file := func(limit, set string) string {
		return "policies: {free: {unlimited: true}, p: {" + limit + ", cost: " + cost + "}}\noverrides: [{policy: p, key: 10.0.0.1, set: {" + set + "}}]\nroutes: [{key: [{client_ip: {}}], " + route + "}]"
	}
	result := run(t, file("algorithm: token-bucket, rate: 9/3s, burst: 9", "rate: 30/3s, burst: 30"), entries)
	byAlgorithm := map[string]int64{}
	for _, a := range result.Policies[0].Alternatives {
		byAlgorithm[a.Algorithm] += a.Denied
	}
	for name, limit := range map[string]string{
		"token-bucket": "", "fixed-window": "limit: 9, window: 3s", "sliding-window": "limit: 9, window: 3s", "sliding-log": "limit: 9, window: 3s",
	} {
		other := result
		if limit != "" {
			other = run(t, file("algorithm: "+name+", "+limit, "limit: 30"), entries)
		}
		if byAlgorithm[name] != other.Denied || other.Denied == 0 {
			t.Errorf("%s: worked out %d, replayed %d", name, byAlgorithm[name], other.Denied)
		}
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
	if _, ok := errors.AsType[*accesslog.MissingError](err); !ok || !strings.Contains(err.Error(), "route 0 (p.yaml:2) needs the header Authorization") {
		t.Error(err)
	}
}

func TestTrafficJoinsSlotsAndLosesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var traffic Traffic
	now, passed, denied := start, int64(0), int64(0)
	for range 20_000 {
		now += r.Int64N(60_000_000_000 / (1 + r.Int64N(5000)))
		if r.IntN(3) == 0 {
			traffic.Add(now, true)
			denied++
		} else {
			traffic.Add(now, false)
			passed++
		}
	}
	shown := traffic.Shown()
	if len(traffic.Slots) > maxSlots || len(shown.Slots) > maxShown || shown.Start > start || shown.Start+int64(len(shown.Slots))*shown.Width <= now {
		t.Errorf("%d and %d slots of %d", len(traffic.Slots), len(shown.Slots), shown.Width)
	}
	for _, s := range shown.Slots {
		passed -= s.Passed
		denied -= s.Denied
	}
	if passed != 0 || denied != 0 {
		t.Errorf("%d and %d requests lost", passed, denied)
	}
}

func TestHeatUsesItsZone(t *testing.T) {
	zone := time.FixedZone("", 5*3600+1800)
	h := NewHeat(zone)
	at := time.Date(2026, time.November, 22, 23, 40, 0, 0, zone) // a Sunday
	h.Add(at.UnixMicro(), false)
	h.Add(at.Add(25*time.Minute).UnixMicro(), true)
	if h.Cells[6][23].Requests != 1 || h.Cells[0][0] != (HeatCell{1, 1}) {
		t.Errorf("%+v", h.Cells)
	}
}

func TestPatternsReplaceIDs(t *testing.T) {
	for path, want := range map[string]string{
		"/items/123/reviews": "GET /items/{}/reviews", "/a/550e8400-e29b-41d4-a716-446655440000": "GET /a/{}", "/v1/users": "GET /v1/users",
		"/deadbeef": "GET /deadbeef", "/dead0": "GET /{}", "/": "GET /", "": "GET ", "/s3cret": "GET /s3cret",
	} {
		if got := pattern("GET", path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := pattern("GET", "/"+strings.Repeat("ä", 200)); len(got) > maxPatternText+len("…") {
		t.Errorf("%d bytes", len(got))
	}
	p := NewPatterns()
	var m Frequent
	for i := range 1000 {
		m.Add(p.Of("GET", fmt.Sprintf("/x%c/y", 'a'+rune(i%20))))
		m.Add(p.Of("GET", "/often"))
	}
	if list := m.List(&p); list[0].Pattern != "GET /often" || list[0].Count < 1000 || len(list) != patternsPerKey {
		t.Errorf("%+v", list)
	}
}

// TestClientOfATrustedProxyComesFromTheLog reads the log of a proxy that receives its requests from
// another proxy.
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
		if p.Requests != 5 || p.Denied != 1 || p.Alternatives[0].Requests != 5 {
			t.Errorf("%+v", p)
		}
	}
}

// TestHeatMarksHoursThatTheLogCovers checks that hours before the first and after the last request, and weekdays
// without any request, are unknown, not hours without requests.
func TestHeatMarksHoursThatTheLogCovers(t *testing.T) {
	h := NewHeat(time.UTC)
	monday := time.Date(2026, time.November, 23, 22, 30, 0, 0, time.UTC)
	h.Add(monday.UnixMicro(), false)
	h.Add(monday.Add(4*time.Hour).UnixMicro(), false)
	covered := h.Covered()
	for day := range covered {
		for hour, got := range covered[day] {
			if want := day == 0 && hour >= 22 || day == 1 && hour <= 2; got != want {
				t.Errorf("day %d, %d:00: %t", day, hour, got)
			}
		}
	}
	h.Add(monday.Add(30*24*time.Hour).UnixMicro(), false)
	// 30 days later it is Wednesday.
	for day, hours := range h.Covered() {
		if want := day <= 2; hours[3] != want || hours[23] != want {
			t.Errorf("day %d of a month's log: %v", day, hours)
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
	if p.Rates == nil || p.Rates.Lowest != 20 || p.Rates.Highest <= 100 || p.Rates.Highest > 120 {
		t.Errorf("the rate is %+v, want 20 to little more than 100", p.Rates)
	}
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
	if k := r.Top[0]; r.Denied != 2 || k.Requests != 3 || k.Denied != 2 || k.Longest.Denied != 2 || k.Patterns[0].Count != 2 {
		t.Errorf("%d denied; the key: %+v", r.Denied, k)
	}
}
