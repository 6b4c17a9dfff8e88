package steps

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// canary is a case of TestCanaries: two versions of a limit that are active at the same time during a rolling change.
type canary struct {
	change   string
	old, new engine.Limit
}

func canaries() []canary {
	slow, fast := rule.PerMinute(30), rule.PerMinute(45)
	of := func(make func(engine.Rate, ...engine.Setting) engine.Limit, rate engine.Rate, options ...engine.Setting) engine.Limit {
		return make(rate, options...)
	}
	strict := func(rate engine.Rate, k int) engine.Limit {
		return of(rule.SlidingWindow, rate, rule.Segments(k), rule.Strict())
	}
	return []canary{
		{"token bucket, 30 → 45 a minute", of(rule.TokenBucket, slow), of(rule.TokenBucket, fast)},
		{"token bucket, burst 45 → 5", of(rule.TokenBucket, fast), of(rule.TokenBucket, fast, rule.Burst(5))},
		{"pacer, queue of 5 → 20", of(rule.Pacer, slow, rule.MaxQueue(5)), of(rule.Pacer, slow, rule.MaxQueue(20))},
		{"pacer, 30 → 45 a minute *", of(rule.Pacer, slow, rule.MaxQueue(5)), of(rule.Pacer, fast, rule.MaxQueue(5))},
		{"fixed window, 30 → 45 a minute", of(rule.FixedWindow, slow), of(rule.FixedWindow, fast)},
		{"fixed window, 30 a minute → 15 in 30 s *", of(rule.FixedWindow, slow), of(rule.FixedWindow, rule.Per(15, 30*time.Second))},
		{"sliding window, weighted → lenient", of(rule.SlidingWindow, slow, rule.Segments(6), rule.Weighted()), of(rule.SlidingWindow, slow, rule.Segments(6), rule.Lenient())},
		{"sliding window, strict, 30 → 45 a minute", strict(slow, 6), strict(fast, 6)},
		{"sliding window, strict, 30 a minute → 15 in 30 s", strict(slow, 6), strict(rule.Per(15, 30*time.Second), 3)},
		{"sliding window, 6 → 12 segments *", strict(slow, 6), strict(slow, 12)},
		{"sliding log, 30 → 45 a minute", of(rule.SlidingLog, slow), of(rule.SlidingLog, fast)},
		{"sliding log, 30 a minute → 15 in 30 s", of(rule.SlidingLog, slow), of(rule.SlidingLog, rule.Per(15, 30*time.Second))},
	}
}

// TestCanaries sends one request per second for an hour: to the old version alone, to the new version alone, and to
// both in turn with the same key. docs/reference/changing-limits.md has the first row.
func TestCanaries(t *testing.T) {
	doc, err := os.ReadFile("../../docs/reference/changing-limits.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(doc)), " ")
	for i, c := range canaries() {
		old, _ := anHour(t, c.old, c.old)
		fresh, _ := anHour(t, c.new, c.new)
		a, b := anHour(t, c.old, c.new)
		stated := fmt.Sprintf("the old token bucket denies %d of its 1800 requests and the new one none; alone they would deny %d and %d", a.denied, old.denied, fresh.denied)
		if i == 0 && (b.denied != 0 || !strings.Contains(page, stated)) {
			t.Errorf("docs/reference/changing-limits.md does not say: %s", stated)
		}
		if least := min(old.denied, fresh.denied); (a.denied+b.denied)*100 < least*99 && !strings.HasSuffix(c.change, "*") {
			t.Errorf("%s: %d denied in turns, at least %d alone", c.change, a.denied+b.denied, least)
		}
	}
}

type answers struct{ denied int }

// anHour sends one request per second to two versions in turn.
func anHour(t *testing.T, first, second engine.Limit) (a, b answers) {
	t.Helper()
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New(headgate.WithStore(store))
	defer limiter.Close()
	for i := range 3600 {
		limit, count := first, &a
		if i%2 == 1 && first != second {
			limit, count = second, &b
		}
		d, err := limiter.PolicyOf("", limit).Allow(context.Background(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if !d.Allowed {
			count.denied++
		}
		clock.Advance(time.Second)
	}
	return a, b
}
