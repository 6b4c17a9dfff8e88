package headgate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// Err reports an invalid policy before the first request.
func TestPolicyErr(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	fixed := rule.FixedWindow(rule.PerHour(9))
	for _, c := range []struct {
		name   string
		limits []engine.Limit
		want   string // text of the error; "" for a valid policy
	}{
		{"good", []engine.Limit{fixed}, ""},
		{"", []engine.Limit{fixed}, ""},
		{"slots", []engine.Limit{rule.Concurrency(3)}, ""},
		{"two", []engine.Limit{fixed, fixed}, ""},
		{"burst", []engine.Limit{rule.FixedWindow(rule.PerHour(9), rule.Burst(3))}, `headgate: policy "burst": burst is`},
		{"a b", []engine.Limit{fixed}, `headgate: policy "a b": name is`},
		{"none", nil, `headgate: policy "none": limits is 0`},
		{"twice", []engine.Limit{rule.FixedWindow(rule.PerHour(9), rule.Named("n")), rule.FixedWindow(rule.PerHour(8), rule.Named("n"))}, `twice`},
	} {
		err := l.PolicyOf(c.name, c.limits...).Err()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, headgate.ErrInvalid)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// The error of a limit that a Go program builds names the fields of its Go type.
func TestPolicyErrNamesGoMembers(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	second, hour := headgate.PerSecond(1), headgate.PerHour(9)
	for want, limit := range map[string]headgate.Limit{
		"Rate is not set;":        headgate.TokenBucket{},
		"Burst is -1;":            headgate.TokenBucket{Rate: second, Burst: -1},
		"Over is 0s;":             headgate.WarmUp{Rate: second},
		"Rate.Count is 0;":        headgate.FixedWindow{},
		"Rate.Period is 0s;":      headgate.FixedWindow{Rate: headgate.Rate{Count: 1}},
		"SegmentLength is 300ms;": headgate.SlidingWindow{Rate: second, SegmentLength: 300 * time.Millisecond},
		"And is 9 windows;":       headgate.SlidingLog{Rate: second, And: make([]headgate.Rate, 8)},
		"Block is 1ns;":           headgate.Penalty{Rate: second, Block: 1},
		"Min is not set;":         headgate.AdaptiveRate{Rate: second, Max: 9},
		"Max is not set;":         headgate.AdaptiveRate{Rate: second, Min: 1},
		"MaxQueue is not set;":    headgate.FairPacer{Rate: second},
		"Rate.Months is 1mo;":     headgate.TokenBucket{Rate: headgate.Rate{Count: 5, Months: 1}},
		"And[0].Months is 1mo;":   headgate.SlidingLog{Rate: second, And: []headgate.Rate{{Count: 50, Months: 1}}},
		"And[1].Count is 100001;": headgate.SlidingLog{Rate: second, And: []headgate.Rate{hour, headgate.PerDay(100001)}},
		"And[1].Period is 0s;":    headgate.SlidingLog{Rate: second, And: []headgate.Rate{hour, {Count: 9}, {Months: 1}}},
		// regression: bug 202, with the next two
		"And[0].Count is 0;": headgate.SlidingLog{Rate: second, And: []headgate.Rate{{}}},
		"Rate.Count is 100001; accepted: 1 to 100000 on a SlidingLog; beyond that use SlidingWindow Strict": headgate.SlidingLog{Rate: headgate.PerDay(100001)},
		"Variant is \"variant 7\"; accepted: Weighted, Strict, Lenient":                                     headgate.SlidingWindow{Rate: second, Variant: 7},
		"SegmentLength is 1s; accepted: either SegmentLength or Segments":                                   headgate.SlidingWindow{Rate: second, Segments: 2, SegmentLength: time.Second},
		"Debt is 1; accepted: no Debt with NextPays,":                                                       headgate.TokenBucket{Rate: second, Debt: 1, NextPays: true},
		"MaxWait is not set; accepted: MaxWait, such as 10s, or MaxQueue on a Pacer":                        headgate.Pacer{Rate: second},
	} {
		if err := l.Policy("p", limit).Err(); err == nil || !strings.HasPrefix(err.Error(), `headgate: policy "p": `+want) {
			t.Errorf("%+v: %v, want %q", limit, err, want)
		}
	}
	if err := l.Semaphore("s", headgate.Concurrency{}).Err(); err == nil || !strings.Contains(err.Error(), `headgate: semaphore "s": Units is 0;`) {
		t.Errorf("a semaphore of no units: %v", err)
	}
	if _, err := headgate.ParseLimit("0/s"); err == nil || !strings.Contains(err.Error(), "headgate: rate is 0/s;") {
		t.Errorf("a limit as text: %v, want the field's name in files", err)
	}
}

// The error of a request names the policy or semaphore, and the field as the program knows it.
func TestRequestErrNamesThePolicy(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	ctx := t.Context()
	p, bad := l.Policy("api", headgate.TokenBucket{Rate: headgate.PerDay(5)}), l.Policy("bad", headgate.TokenBucket{})
	_, cost := p.AllowN(ctx, "k", -1)
	_, key := p.Wait(ctx, "")
	_, _, acquire := l.Semaphore("slots", headgate.Concurrency{}).TryAcquire(ctx, "k", 1)
	_, list := l.AllowAll(ctx, headgate.Charge{Policy: p, Key: "k"}, headgate.Charge{Policy: bad, Key: "k"})
	for want, err := range map[string]error{
		`policy "api": cost is -1;`:             cost,
		`policy "api": key is "";`:              key,
		`semaphore "slots": Units is 0;`:        acquire,
		`charges.1: policy "bad": Rate is not`:  list,
		`policy "api": percent is 150;`:         p.LeavingPercent(150).Err(),
		`policy "api": percent is 90% of 5/1d;`: p.LeavingPercent(90).Err(),
	} {
		if !errors.Is(err, headgate.ErrInvalid) || !strings.HasPrefix(err.Error(), "headgate: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
