package suggest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/simulate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logOf returns a log with the given lines.
func logOf(t *testing.T, lines []trafficLine) *accesslog.Log {
	t.Helper()
	var b bytes.Buffer
	for i := range lines {
		if err := lines[i].Precise(&b); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := accesslog.Open([]string{path}, nil, accesslog.Options{Format: PreciseFormat})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func suggested(t *testing.T, lines []trafficLine, o Options) *Result {
	t.Helper()
	if o.Key == "" {
		o.Key = "client_ip"
	}
	o.MaxKeys, o.Listed = simulate.DefaultMaxKeys, 10
	r, err := Run(t.Context(), logOf(t, lines), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// replayed decides the lines under a suggested policies file, in the same way as a server. It returns the numbers of
// requests and denials by client.
func replayed(t *testing.T, lines []trafficLine, file string) (requests, denied map[string]int64) {
	t.Helper()
	config, err := policy.Parse("suggested.yaml", []byte(file))
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	s, err := simulate.New(config, simulate.DefaultMaxKeys)
	if err != nil {
		t.Fatal(err)
	}
	requests, denied = map[string]int64{}, map[string]int64{}
	err = logOf(t, lines).Run(t.Context(), func(batch []accesslog.Request) error {
		for i := range batch {
			client := batch[i].Client.String()
			a := s.Decide(t.Context(), &batch[i])
			requests[client]++
			if !a.Allowed {
				denied[client]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return requests, denied
}

// TestSuggestionsStopWhatTheyShould makes logs with known answers and decides their requests under the suggestions. The
// suggestions must stop the clients that should be stopped, and affect at most one in a thousand of the others.
func TestSuggestionsStopWhatTheyShould(t *testing.T) {
	day := trafficOptions{Start: time.Date(2026, time.November, 20, 6, 0, 0, 0, time.UTC), Length: 24 * time.Hour, Readers: 150}
	for _, c := range []struct {
		name string
		make func(o *trafficOptions)
		// stops contains the clients that stand out, and the minimum share of their requests that must be denied.
		stops map[string]float64
	}{
		{"readers alone", func(*trafficOptions) {}, nil},
		{"a scraper", func(o *trafficOptions) { o.ScraperRate, o.ScraperTime = 6, 15*time.Minute }, map[string]float64{ScraperAddress: 0.8}},
		{"a burst at midnight", func(o *trafficOptions) { o.Crons, o.CronRequests = 40, 30 }, nil},
		{"a burst of one client at midnight", func(o *trafficOptions) { o.Crons, o.CronRequests = 1, 200 }, nil},
		{"a slow leak", func(o *trafficOptions) { o.LeakEvery = 12 * time.Second }, map[string]float64{LeakAddress: 0}},
		{"a shared address", func(o *trafficOptions) { o.Office = 80 }, map[string]float64{NATAddress: 0}},
		{"all of them", func(o *trafficOptions) {
			o.ScraperRate, o.ScraperTime, o.Crons, o.CronRequests, o.LeakEvery, o.Office = 4, 20*time.Minute, 20, 25, 15*time.Second, 50
		}, map[string]float64{ScraperAddress: 0.8, LeakAddress: 0, NATAddress: 0}},
	} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(c.name, " ", seed), func(t *testing.T) {
				t.Parallel()
				o := day
				o.Seed = seed
				c.make(&o)
				lines := makeTraffic(o)
				options := Options{Key: "client_ip", Deny: 0.001}
				r := suggested(t, lines, options)
				file := r.PoliciesFile(&options, "a test")
				requests, denied := replayed(t, lines, file)
				others, otherDenied, sum := 0, 0, int64(0)
				for client, n := range requests {
					sum += denied[client]
					if least, stop := c.stops[client]; stop {
						if share := float64(denied[client]) / float64(n); share < least {
							t.Errorf("%s: %.0f %% denied, want %.0f %%\n%s", client, 100*share, 100*least, file)
						}
						continue
					}
					others++
					if denied[client] > 0 {
						otherDenied++
					}
				}
				if float64(otherDenied) > 0.001*float64(others) {
					t.Errorf("%d of %d others denied something\n%s", otherDenied, others, file)
				}
				if r.OfOutliers.Denied+r.OfOthers.Denied != sum {
					t.Errorf("the effect has %d denials, the server %d", r.OfOutliers.Denied+r.OfOthers.Denied, sum)
				}
				if len(r.Outliers) != len(c.stops) {
					t.Errorf("%d stand out: %+v", len(r.Outliers), r.Outliers)
				}
				for _, k := range r.Outliers {
					_, known := c.stops[k.Key]
					if many := k.Agents > 20; !known || many != (k.Key == NATAddress) {
						t.Errorf("%s stands out with %d User-Agents", k.Key, k.Agents)
					}
				}
				if _, slow := c.stops[LeakAddress]; slow && !strings.Contains(strings.Join(r.Suggestion.Why, " "), "second limit, for a day") {
					t.Error("the reasons do not say what stops a slow key")
				}
			})
		}
	}
}

func TestNeededBurstIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		var times []int64
		now := int64(1_700_000_000_000_000)
		for range 1 + r.IntN(200) {
			now += r.Int64N(1 + r.Int64N(3_000_000))
			times = append(times, now)
		}
		rate := rates[r.IntN(len(rates))]
		burst := neededBurst(times, rate)
		if n := denied(rule.TokenBucket(rate, rule.Burst(burst)), times); n != 0 {
			t.Fatalf("%s burst %d denies %d", rate, burst, n)
		}
		if burst > 1 && denied(rule.TokenBucket(rate, rule.Burst(burst-1)), times) == 0 {
			t.Fatalf("%s burst %d denies none either", rate, burst-1)
		}
	}
}

func TestUpToOmitsAShareOfTheValues(t *testing.T) {
	for _, c := range []struct {
		values []int64
		share  float64
		want   int64
	}{
		{nil, 0.5, 1},
		{[]int64{3, 1, 2}, 0, 3},
		{[]int64{4, 3, 1, 2}, 0.5, 2},
		{[]int64{3, 1, 2}, 0.99, 1},
		{[]int64{3, 1, 2}, 1, 1},
		{[]int64{7}, 1, 7},
	} {
		if got := upTo(slices.Clone(c.values), c.share); got != c.want {
			t.Errorf("all but %v of %v are up to %d, want %d", c.share, c.values, got, c.want)
		}
	}
}

func TestMostInIsTheSlidingLogsLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 200 {
		var times []int64
		now := int64(1_700_000_000_000_000)
		for range 1 + r.IntN(300) {
			now += r.Int64N(2) * r.Int64N(400_000)
			times = append(times, now)
		}
		most := mostIn(times, time.Second)
		if n := denied(rule.SlidingLog(rule.PerSecond(most)), times); n != 0 {
			t.Fatalf("a log of %d denies %d", most, n)
		}
		if most > 1 && denied(rule.SlidingLog(rule.PerSecond(most-1)), times) == 0 {
			t.Fatalf("a log of %d denies none either", most-1)
		}
	}
}

func TestNumbersAreReadable(t *testing.T) {
	for n, want := range map[int64]int64{1: 1, 7: 8, 9: 10, 11: 12, 61: 80, 81: 100, 101: 120, 1234: 1500, 99_999: 100_000} {
		if got := roundUp(n); got != want {
			t.Errorf("%d up to %d, want %d", n, got, want)
		}
	}
	for n := int64(1); n < 5000; n++ {
		if up := roundUp(n); up < n || roundUp(up) != up {
			t.Fatalf("%d: %d", n, up)
		}
	}
}

func TestPercentiles(t *testing.T) {
	var lines []trafficLine
	at := time.Date(2026, time.November, 20, 6, 0, 0, 0, time.UTC)
	for client := range 100 {
		for i := range client + 1 {
			lines = append(lines, trafficLine{Time: at.Add(time.Duration(i) * 100 * time.Millisecond), Client: fmt.Sprintf("10.0.0.%d", client), Path: "/", Status: 200})
		}
	}
	slices.SortStableFunc(lines, func(a, b trafficLine) int { return a.Time.Compare(b.Time) })
	r := suggested(t, lines, Options{Deny: 0.001})
	second, minute := r.Percentiles[inSecond], r.Percentiles[inMinute]
	if second.P50 != 10 || second.Max != 10 || minute.P50 != 50 || minute.P90 != 90 || minute.P99 != 99 || minute.P999 != 100 || minute.Max != 100 {
		t.Errorf("%+v\n%+v", second, minute)
	}
}

func TestNotesStateAssumptions(t *testing.T) {
	var lines []trafficLine
	for i := range fewestKeys {
		lines = append(lines, trafficLine{Time: time.Unix(1_800_000_000+int64(i), 0), Client: fmt.Sprint("10.0.0.", i+1), Path: "/", Status: 200})
	}
	options := Options{Key: "client_ip"}
	r := suggested(t, lines, options)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "charged one unit") {
		t.Errorf("%d keys: %q", fewestKeys, r.Notes)
	}
	r = suggested(t, lines[1:], options)
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[1], "fewer than 10 keys") {
		t.Errorf("%d keys: %q", fewestKeys-1, r.Notes)
	}
	if file := r.PoliciesFile(&options, "log"); !strings.Contains(file, "# Note: each request is charged one unit") {
		t.Error(file)
	}
}

func TestKeysEqualRouteKeys(t *testing.T) {
	lines := []trafficLine{{Time: time.Unix(1_800_000_000, 0), Client: "10.0.0.1", Path: "/users/7", Status: 200}, {Time: time.Unix(1_800_000_001, 0), Client: "10.0.0.1", Path: "/x", Status: 200}}
	options := Options{Key: "[client_ip, {path: id}]", Path: "/users/{id}"}
	r := suggested(t, lines, options)
	if fmt.Sprint(r.Key) != "[client_ip/64 path id]" || r.Requests != 1 || r.Other != 1 {
		t.Errorf("%+v", r)
	}
	for key, want := range map[string]string{"{const: all}": "total", "{path: id}": "key", "[{const: a}, client_ip]": "client"} {
		if r := suggested(t, lines, Options{Key: key, Path: "/users/{id}"}); r.Suggestion.Policy != want {
			t.Errorf("%s: policy %s, want %s", key, r.Suggestion.Policy, want)
		}
	}
	if file := r.PoliciesFile(&options, "a\nb"); !strings.Contains(file, `  - {match: {path: "/users/{id}"}, key: [client_ip, {path: id}], policies: [client]}`) {
		t.Error(file)
	}
	for key, want := range map[string]string{
		"{head: X}": `unknown field "head"`, "{path: id}": "a segment of match.path", "{header: X-User}": "--key {header: X-User} needs the header X-User", "[": "--key [",
	} {
		_, err := Run(t.Context(), logOf(t, lines), Options{Key: key})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestPoliciesFileOfHostileKeysIsValid names keys that a client has chosen in the comments, and such proxies in the file.
func TestPoliciesFileOfHostileKeysIsValid(t *testing.T) {
	for _, key := range []string{"\"}, policies: {x: 1/s}", "a\nb: c", "\u2028\u0085\x1b[31m", `a\: "b" # c`, "{{.}}", "ключ", "\u202e", "\xff"} {
		r := Result{
			Notes:      []string{key + " sets the limit"},
			Suggestion: Suggestion{Policy: "client", Rate: "1/s", Burst: 9, Why: []string{key + " stands out"}},
		}
		file := r.PoliciesFile(&Options{Key: "client_ip"}, "log "+key)
		config, err := policy.Parse("suggested.yaml", []byte(file))
		if err != nil {
			t.Errorf("%q: %v\n%s", key, err, file)
			continue
		}
		if s := config.Policies.Summaries(); len(s) != 1 || !slices.Equal(s[0].Limits, []string{"1/s burst 9"}) || len(s[0].Overrides) > 0 {
			t.Errorf("%q: %+v", key, s)
		}
	}
}

func TestDeniedCountsByTheSteps(t *testing.T) {
	times := []int64{0, 0, 0, 500_000, 1_000_000, 1_000_000, 10_000_000}
	for _, c := range []struct {
		limit engine.Limit
		want  int64
	}{
		{rule.TokenBucket(rule.PerSecond(1), rule.Burst(2)), 3},
		{rule.FixedWindow(rule.PerSecond(2)), 2},
		{rule.SlidingLog(rule.PerSecond(2)), 2},
		{rule.SlidingLog(rule.PerSecond(7)), 0},
		{engine.DenyAll(), 7},
	} {
		if got := denied(c.limit, times); got != c.want {
			t.Errorf("%s: %d, want %d", c.limit, got, c.want)
		}
	}
}
