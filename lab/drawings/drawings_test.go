package drawings

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

var update = flag.Bool("update", false, "write the drawings and the table")

// save compares a drawing with its file or, with -update, writes the file.
func save(t *testing.T, name, svg string) {
	t.Helper()
	compare(t, "../../docs/images/"+name+".svg", standalone(svg)+"\n")
}

func compare(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not what the library decides (%v): cd lab && go test ./drawings -update", path, err)
	}
}

// always returns a function that returns the policy at any time.
func always(p *headgate.Policy) func(time.Duration) *headgate.Policy {
	return func(time.Duration) *headgate.Policy { return p }
}

// TestAlgorithms sends the same traffic through limits of 60 per minute: a little traffic, two bursts close to the
// start of a minute, a flood, and a little traffic again.
func TestAlgorithms(t *testing.T) {
	var times []time.Duration
	for _, part := range []struct {
		from, to int
		rate     float64
	}{{0, 50, 0.5}, {50, 70, 6}, {70, 130, 3}, {130, 180, 0.5}} {
		times = steady(times, part.from, part.to, part.rate)
	}
	minute := rule.PerMinute(60)
	var panels []panel
	var table strings.Builder
	fmt.Fprintf(&table, "| 60 a minute as | passed, of %d | most in any minute |\n|---|---|---|\n", len(times))
	for _, l := range []struct {
		name  string
		limit engine.Limit
	}{
		{"token bucket, burst 60", rule.TokenBucket(minute)},
		{"token bucket, burst 10", rule.TokenBucket(minute, rule.Burst(10))},
		{"pacer, waiting up to 10 s", rule.Pacer(minute, rule.MaxWait(10*time.Second))},
		{"warm-up of 30 s", rule.WarmUp(minute, 30*time.Second)},
		{"fixed window", rule.FixedWindow(minute)},
		{"sliding window, lenient, 6 segments", rule.SlidingWindow(minute, rule.Lenient(), rule.Segments(6))},
		{"sliding window, weighted, 6 segments", rule.SlidingWindow(minute, rule.Segments(6), rule.Weighted())},
		{"sliding window, strict", rule.SlidingWindow(minute, rule.Strict())},
		{"sliding log", rule.SlidingLog(minute)},
	} {
		w := newWorld(t)
		r := w.decide(times, always(w.limiter.PolicyOf("p", l.limit)))
		panels = append(panels, r.panel(l.name, 2*time.Second, 3*time.Minute))
		fmt.Fprintf(&table, "| %s | %d | %d |\n", l.name, len(r.passed), r.most(time.Minute))
	}
	save(t, "algorithms", drawPanels("The same requests through each algorithm", panels))

	const page = "../../docs/concepts/algorithms.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), "| 60 a minute as |")
	_, after, _ := strings.Cut(rest, "\n\n")
	compare(t, page, before+table.String()+"\n"+after)
}

// TestTime compares windows with different starts, and a clock that is set back.
func TestTime(t *testing.T) {
	times := steady(steady(nil, 20, 110, 2), 110, 180, 0.5)
	var panels []panel
	draw := func(name string, limit engine.Limit, setBack time.Duration) {
		w := newWorld(t)
		policy := w.limiter.PolicyOf("p", limit)
		r := w.decide(times, func(at time.Duration) *headgate.Policy {
			if at >= time.Minute {
				w.clock.Advance(-setBack)
				setBack = 0
			}
			return policy
		})
		panels = append(panels, r.panel(name, 2*time.Second, 3*time.Minute))
	}
	minute := rule.PerMinute(60)
	draw("fixed window, from the first request", rule.FixedWindow(minute), 0)
	draw("fixed window, by the clock", rule.FixedWindow(minute, rule.Align("UTC")), 0)
	draw("sliding log", rule.SlidingLog(minute), 0)
	draw("token bucket, burst 10", rule.TokenBucket(minute, rule.Burst(10)), 0)
	draw("the same, and at 60 s the store's clock is set back by 5 s", rule.TokenBucket(minute, rule.Burst(10)), 5*time.Second)
	save(t, "time", drawPanels("Where windows begin, and a clock that is set back", panels))
}

// TestChanges raises a limit under traffic and lowers it again.
func TestChanges(t *testing.T) {
	times := steady(nil, 0, 180, 2)
	var panels []panel
	draw := func(name string, limit func(engine.Rate) engine.Limit) {
		w := newWorld(t)
		low, high := w.limiter.PolicyOf("p", limit(rule.PerMinute(30))), w.limiter.PolicyOf("p", limit(rule.PerMinute(90)))
		r := w.decide(times, func(at time.Duration) *headgate.Policy {
			if at >= time.Minute && at < 2*time.Minute {
				return high
			}
			return low
		})
		panels = append(panels, r.panel(name, 2*time.Second, 3*time.Minute))
	}
	draw("token bucket, burst 10", func(r engine.Rate) engine.Limit { return rule.TokenBucket(r, rule.Burst(10)) })
	draw("fixed window", func(r engine.Rate) engine.Limit { return rule.FixedWindow(r) })
	draw("sliding log", func(r engine.Rate) engine.Limit { return rule.SlidingLog(r) })
	save(t, "changes", drawPanels("A limit that is raised after a minute and lowered after two", panels))
}

// TestFairness divides 100 requests a second among a flood, five keys that want 30 a second each, and ten keys that
// want 2.
func TestFairness(t *testing.T) {
	type request struct {
		at  time.Duration
		key int
	}
	const seconds = 20
	wants := []int{1000, 30, 30, 30, 30, 30, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}
	random := rand.New(rand.NewPCG(1, 2))
	var requests []request
	for key, rate := range wants {
		for range rate * seconds {
			requests = append(requests, request{time.Duration(random.Int64N(int64(seconds * time.Second))), key})
		}
	}
	slices.SortStableFunc(requests, func(a, b request) int { return int(a.at - b.at) })
	var panels []panel
	draw := func(name string, limit engine.Limit, keyOf func(int) string) {
		w := newWorld(t)
		policy := w.limiter.PolicyOf("p", limit)
		bars := make([]Bar, len(wants))
		now := time.Duration(0)
		for _, r := range requests {
			w.clock.Advance(r.at - now)
			now = r.at
			if d, err := policy.Allow(t.Context(), keyOf(r.key)); err != nil {
				t.Fatal(err)
			} else if d.Allowed {
				bars[r.key].Total++
			}
		}
		for i := range bars {
			bars[i].Total = (bars[i].Total + seconds/2) / seconds
			bars[i].Label = fmt.Sprintf("%d/s", wants[i])
		}
		panels = append(panels, panel{Name: name, Bars: bars})
	}
	draw("one token bucket for all: requests a second that pass, for each key", rule.TokenBucket(rule.PerSecond(100), rule.Burst(50)), func(int) string { return "all" })
	draw("a fair share", rule.FairShare(rule.PerSecond(100), rule.Burst(50)), func(key int) string { return fmt.Sprint(key) })
	save(t, "fairness", drawPanels("Requests that pass, for each key, and below them the rate that the key wants", panels))
}
