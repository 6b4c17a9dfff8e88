package headgate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
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
		{"a b", []engine.Limit{fixed}, `headgate: policy "a b": policy is`},
		{"none", nil, `headgate: policy "none": limits is 0`},
		{"twice", []engine.Limit{rule.FixedWindow(rule.PerHour(9), rule.Named("n")), rule.FixedWindow(rule.PerHour(8), rule.Named("n"))}, `twice`},
	} {
		err := core.Policy(l, c.name, c.limits...).Err()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, headgate.ErrInvalid)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// The error of a limit that a Go program builds names the fields of its Go type.
func TestPolicyErrNamesGoMembers(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	second := headgate.PerSecond(1)
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
		"Debt is 1; accepted: no debt with NextPays,":                                headgate.TokenBucket{Rate: second, Debt: 1, NextPays: true},
		"MaxWait is not set; accepted: MaxWait, such as 10s, or MaxQueue on a pacer": headgate.Pacer{Rate: second},
	} {
		if err := l.Policy("p", limit).Err(); err == nil || !strings.HasPrefix(err.Error(), `headgate: policy "p": `+want) {
			t.Errorf("%+v: %v, want %q", limit, err, want)
		}
	}
	if err := l.Semaphore("s", headgate.Concurrency{}).Err(); err == nil || !strings.Contains(err.Error(), `headgate: policy "s": Units is 0;`) {
		t.Errorf("a semaphore of no units: %v", err)
	}
	if _, err := headgate.ParseLimit("0/s"); err == nil || !strings.Contains(err.Error(), "headgate: rate is 0/s;") {
		t.Errorf("a limit as text: %v, want the field's name in files", err)
	}
}
