package headgate_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

const years100 = 36525 * 24 * time.Hour

// Building an invalid limit returns an error. The error names the field, the value and the accepted values
// (regression: bugs 6, 8, 13, 14).
func TestInvalidLimitsNameFieldAndAccepted(t *testing.T) {
	second := rule.PerSecond(1)
	for _, c := range []struct {
		limit engine.Limit
		want  string
	}{
		{rule.TokenBucket(rule.PerSecond(0)), "rate is 0/s; accepted: a count of 1 to 281474976710655"},
		{rule.TokenBucket(rule.PerSecond(-1)), "rate is -1/s;"},
		{rule.TokenBucket(rule.PerSecond(1 << 48)), "rate is 281474976710656/s;"},
		{rule.TokenBucket(rule.Per(1, 0)), "rate is 1/0s; accepted: a period of 1ms to 36525d"},
		{rule.TokenBucket(rule.Per(1, 500*time.Microsecond)), "rate is 1/500µs;"},
		{rule.TokenBucket(rule.Per(1, time.Second+1)), "in whole microseconds"},
		{rule.TokenBucket(rule.Per(1, years100+time.Second)), "accepted: a period of 1ms to 36525d"},
		{rule.TokenBucket(engine.Rate{Count: 1, Months: 1}), "calendar months and years only"},
		{rule.TokenBucket(second, rule.Burst(0)), "burst is 0; accepted: 1 to"},
		{rule.TokenBucket(second, rule.Burst(1e18)), "burst is 1000000000000000000;"},
		{rule.TokenBucket(rule.PerDay(1), rule.Burst(36526)), "burst is 36526; accepted: a burst that refills within 36525d at 1/1d"},
		{rule.TokenBucket(rule.PerDay(1), rule.Burst(36525), rule.AllowDebt(1)), "debt is 1; accepted: with the burst"},
		{rule.TokenBucket(second, rule.AllowDebt(-1)), "debt is -1;"},
		{rule.TokenBucket(second, rule.AllowDebt(1), rule.NextPays()), "debt is 1; accepted: no debt with next_pays"},
		{rule.FixedWindow(second, rule.NextPays()), "next_pays is set; accepted: no such field on fixed-window"},
		{rule.TokenBucket(second, rule.CountDenied()), "count_denied is set; accepted: no such field on token-bucket"},
		{rule.TokenBucket(second, rule.Named("")), `name is ""; accepted: 1 to 64 bytes`},
		{engine.Build(algo.WarmUp, []engine.Rate{second}), "warm_up is not set; accepted: 1ms to 36525d"},
		{rule.WarmUp(second, 0), "warm_up is 0s;"},
		{rule.WarmUp(rule.PerSecond(1), 1999*time.Millisecond), "warm_up is 1.999s; accepted: the time of 2 to 562949953421310 units at 1/s"},
		{rule.WarmUp(rule.PerDay(1), time.Hour*48, rule.Burst(36525)), "warm_up is 2d; accepted: what refills with the burst within 36525d at 1/1d"},
		{rule.WarmUp(rule.PerSecond(1), time.Minute, rule.AllowDebt(1)), "debt is set; accepted: no such field on warm-up"},
		{rule.Pacer(second), "max_wait is not set;"},
		{rule.Pacer(second, rule.MaxWait(-1)), "max_wait is -1ns;"},
		{rule.Pacer(second, rule.MaxWait(1)), "in whole microseconds"},
		{rule.Pacer(second, rule.MaxQueue(-1)), "max_queue is -1;"},
		{rule.Pacer(rule.PerDay(1), rule.MaxQueue(36525)), "max_queue is 36525;"},
		{rule.Pacer(rule.PerDay(1), rule.MaxWait(years100)), "max_wait is 36525d;"},
		{rule.FixedWindow(rule.PerSecond(0)), "limit is 0;"},
		{rule.FixedWindow(engine.Rate{Count: 1, Months: 12}), "only with a time zone"},
		{rule.FixedWindow(rule.PerDay(1), rule.Align("Mars/Base")), `align is "Mars/Base";`},
		{rule.FixedWindow(rule.PerDay(1), rule.Align("Local")), `align is "Local";`},
		{rule.FixedWindow(rule.PerDay(1), rule.Align("")), `align is "";`},
		{rule.FixedWindow(rule.PerSecond(1), rule.Align("UTC")), "1m, 1h, 1d, 1w, 1mo or 1y"},
		{rule.SlidingWindow(second, rule.Segments(0)), "segments is 0;"},
		{rule.SlidingWindow(second, rule.Segments(1001)), "segments is 1001;"},
		{rule.SlidingWindow(second, rule.Segments(7)), "segments is 7;"},
		{rule.SlidingWindow(second, rule.Segments(2), rule.SegmentLength(1)), "either segment or segments"},
		{rule.SlidingWindow(second, rule.SegmentLength(300*time.Millisecond)), "segment is 300ms;"},
		{rule.SlidingWindow(second, rule.SegmentLength(time.Nanosecond)), "segment is 1ns;"},
		{rule.SlidingWindow(second, rule.And(rule.PerMinute(5))), "segment is not set;"},
		{rule.SlidingLog(rule.PerSecond(100_001)), "use sliding-window strict"},
		{rule.SlidingLog(rule.PerSecond(5), rule.And(rule.PerMinute(5))), "windows is 5/s beside 5/1m;"},
		{rule.SlidingLog(rule.PerSecond(5), rule.And(rule.PerSecond(6))), "each shorter window with a smaller limit"},
		{rule.SlidingLog(second, rule.And(make([]engine.Rate, 8)...)), "windows is 9 windows; accepted: 1 to 8"},
		{engine.Build(algo.Algorithm(99), []engine.Rate{second}), "algorithm is unknown; accepted: token-bucket, pacer,"},
		{rule.Concurrency(0), "limit is 0; accepted: 1 to 100000"},
		{rule.Concurrency(1, rule.LeaseTime(0)), "lease is 0s;"},
	} {
		l, err := c.limit, c.limit.Err()
		var input *engine.InputError
		if !errors.As(err, &input) || !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("built %v with error %v, want %q", l, err, c.want)
		}
	}
}

// The largest documented numbers are accepted.
func TestLargestNumbersAreAccepted(t *testing.T) {
	const most = 1<<48 - 1
	for _, l := range []engine.Limit{
		rule.TokenBucket(rule.Per(most, years100)),
		rule.TokenBucket(rule.Per(90, time.Millisecond), rule.Burst(most)),
		rule.TokenBucket(rule.PerDay(1), rule.Burst(36525)),
		rule.WarmUp(rule.PerDay(1), 36525*24*time.Hour),
		rule.WarmUp(rule.Per(most, time.Millisecond), time.Millisecond, rule.Burst(most)),
		rule.Pacer(rule.PerDay(1), rule.MaxQueue(36524)),
		rule.Pacer(rule.PerDay(1), rule.MaxQueue(most), rule.MaxWait(time.Hour)),
		rule.FixedWindow(rule.Per(most, years100)),
		rule.SlidingWindow(rule.Per(most, years100), rule.Segments(1000)),
		rule.SlidingLog(rule.Per(100_000, years100)),
		rule.Concurrency(100_000),
		engine.DenyAll(), engine.NoLimit(),
	} {
		back, err := engine.ParseLimit(l.String())
		if err != nil || back != l {
			t.Errorf("%s reads back as %s, %v", l, back, err)
		}
	}
}

func TestParseLimitReadsTextBack(t *testing.T) {
	for text, want := range map[string]string{
		"100/s": "100/s", "5/1m": "5/1m", "5/m": "5/1m", "100/s burst 200": "100/s burst 200", "100/s burst 100": "100/s",
		"gcra 30/60s": "30/1m", "funnel 30/60s burst 15 debt 2": "30/1m burst 15 debt 2",
		"1000/1d align Asia/Shanghai": "fixed-window 1000/1d align Asia/Shanghai",
		"5/1w align clock":            "fixed-window 5/1w align clock", "fixed-window 5/1mo align UTC": "fixed-window 5/1mo align UTC",
		"fixed-window 5/1y align UTC count_denied": "fixed-window 5/1y align UTC count_denied",
		"10/s warm_up 30s":                         "warm-up 10/s warm_up 30s", "warm-up 10/s burst 5 warm_up 1m next_pays": "warm-up 10/s warm_up 1m burst 5 next_pays",
		"10/s max_wait 1m30s": "pacer 10/s max_wait 1m30s", "10/s max_queue 0": "pacer 10/s max_queue 0",
		"sliding-window 6/1m":                            "sliding-window 6/1m segments 50 strict",
		"sliding-window 100/1m strict":                   "sliding-window 100/1m segments 50 strict",
		"sliding-window 5/s 50/1m segment 100ms lenient": "sliding-window 5/s 50/1m segment 100ms lenient",
		`sliding-log 5/36h name "a \"b\" c"`:             `sliding-log 5/36h name "a \"b\" c"`,
		"sliding-log 5/m name x":                         `sliding-log 5/1m name "x"`,
		"concurrency 10":                                 "concurrency 10 lease 1m",
		"deny":                                           "deny", "unlimited": "unlimited",
	} {
		l, err := engine.ParseLimit(text)
		if err != nil || l.String() != want {
			t.Errorf("%q: %s, %v, want %s", text, l, err, want)
		}
	}
	for _, text := range []string{
		"", "100", "100/", "/s", "100/5", "1.5/s", "100/s burst", "100/s burst x", "100/s bursts 5", "deny 5", "magic 5/s",
		"5/1mo", "5/-1s", "concurrency", "concurrency x", `5/s name "`, "5/s 6/s", "5/99999999999999w",
	} {
		if l, err := engine.ParseLimit(text); err == nil {
			t.Errorf("%q was read as %s", text, l)
		}
	}
}

// The error for a common mistake in a limit's text shows the right form (regression: bug 54).
func TestParseLimitSaysWhatToWrite(t *testing.T) {
	for text, want := range map[string]string{
		"sliding_window 5/m":                `algorithm is "sliding_window"; accepted: a rate such as "100/s", one of token-bucket, pacer,`,
		"+5/s":                              "rate is \"+5/s\"; accepted: a whole number",
		"5/s burst +5":                      "burst is \"+5\"; accepted: a whole number",
		"unlimited 5/s":                     "accepted: unlimited alone",
		"deny deny":                         "accepted: deny alone",
		"5/s burst 2 burst 3":               "burst is set twice; accepted: once",
		"sliding-window 5/s strict lenient": "variant is set twice",
		"10/sec":                            "units are us, ms, s, m (minutes), h, d,",
		"0.5/s":                             `half a unit a second is "1/2s"`,
		"10/s bursts 5":                     "field is \"bursts\"; accepted: burst,",
		"0/m":                               "rate is 0/1m; accepted: a count of 1 to",
	} {
		if _, err := engine.ParseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Every text that ParseLimit accepts prints as text that parses to an equal limit.
func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"100/s burst 5", "pacer 5/1m max_wait 1d12h", "sliding-window 5/s 9/1m segment 100ms strict name \"x y\"", "concurrency 5 lease 1w"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := engine.ParseLimit(text)
		if err != nil {
			if !errors.Is(err, headgate.ErrInvalid) {
				t.Fatalf("%q: %v is no InputError", text, err)
			}
			return
		}
		if back, err := engine.ParseLimit(l.String()); err != nil || back != l {
			t.Fatalf("%q prints as %q, which reads back as %q, %v", text, l, back, err)
		}
	})
}

// Every accepted duration is at least 0, and survives printing and parsing as part of a rate.
func FuzzParseSpan(f *testing.F) {
	for _, s := range []string{"1d12h", "100ms", "2w", "1.5h", "5", "1mo", "100000000m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		span, err := engine.ParseSpan(text)
		if err != nil {
			return
		}
		if span < 0 {
			t.Fatalf("%q is %s", text, span)
		}
		if back, err := engine.ParseRate(rule.Per(1, span).String()); err != nil || back.Period != span {
			t.Fatalf("%q is %s, and its rate reads back as %v, %v", text, span, back, err)
		}
	})
}

// Two keys are equal if and only if their parts are equal (regression: bug 28).
func FuzzKey(f *testing.F) {
	f.Add("a:b", "c", "a", "b:c")
	f.Add(`a\`, ":b", "a", `\:b`)
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		if (headgate.Key(a, b) == headgate.Key(c, d)) != (a == c && b == d) {
			t.Fatalf("Key(%q, %q) = %q, Key(%q, %q) = %q", a, b, headgate.Key(a, b), c, d, headgate.Key(c, d))
		}
	})
}

func TestKeyEscapesSeparators(t *testing.T) {
	for want, parts := range map[string][]string{
		"laoqian:reply": {"laoqian", "reply"}, `a\:b:c`: {"a:b", "c"}, `a:b\:c`: {"a", "b:c"}, `a\\:b`: {`a\`, "b"}, "one": {"one"},
	} {
		if got := headgate.Key(parts...); got != want {
			t.Errorf("Key(%q) = %q, want %q", parts, got, want)
		}
	}
}
