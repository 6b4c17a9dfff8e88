package envoy

import (
	"fmt"
	"testing"
	"time"
)

const classed = `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: 4, classes: [{name: live}, {name: batch, leaves: 50%}]}}
  - {key: b, rate_limit: {unit: minute, requests_per_unit: 60, algorithm: token-bucket, burst: 10, classes: [{name: live}, {name: batch, leaves: 4}]}}
  - {key: c, rate_limit: {unit: minute, requests_per_unit: 5}}
`

// TestClasses checks that a descriptor whose only entry is class sets the request's class, both for a rule with a
// policy and for a rule on its own. Denied requests of a class use none of the units that the class must leave. A
// request without a class belongs to the last class.
func TestClasses(t *testing.T) {
	for _, semantics := range []Semantics{Original, Improved} {
		for _, ruled := range []bool{true, false} {
			f := serving(t, Options{Semantics: semantics}, classed)
			if !ruled {
				f.policies.Policies = nil
			}
			f.want("OK: OK 1/2 60s, OK", "a=1", "class=batch")
			f.want("OK: OK, OK 0/2 60s", "class=batch", "a=1")
			for range 5 {
				f.want("OVER_LIMIT: OVER_LIMIT 0/2 60s, OK", "a=1", "class=batch")
			}
			f.want("OK: OK 1/4 60s, OK", "a=1", "class=live")
			f.want("OVER_LIMIT: OVER_LIMIT 0/2 60s, OK", "a=1", "class=made-up")
			f.want("OVER_LIMIT: OVER_LIMIT 0/2 60s", "a=1")
			f.want("OVER_LIMIT: OVER_LIMIT 0/2 60s, OK", "a=1", "class=live,x=y") // two entries, so this sets no class
			f.want("OK: OK 0/4 60s, OK", "a=1", "class=live")
			f.want("OVER_LIMIT: OVER_LIMIT 0/4 60s, OK", "a=1", "class=live")
			f.want("OK: OK 0/60 6s, OK 4/5 60s, OK", "b=1 x6", "c=1", "class=batch")
			f.want("OK: OK 3/60 7s, OK", "b=1", "class=live")
			f.want("OVER_LIMIT: OVER_LIMIT 0/60 2s, OK", "b=1 x0", "class=batch")
		}
	}
}

// TestInvalidClasses checks that the error for invalid classes names the position and the accepted values.
func TestInvalidClasses(t *testing.T) {
	for _, c := range []struct{ limit, want string }{
		{"unit: day, requests_per_unit: 5, classes: []", "3:69: invalid classes: classes is 0 classes; accepted: 1 to 8"},
		{"unit: day, requests_per_unit: 5, classes: live", `3:69: error loading config file: classes is "live"; accepted: a list such as [{name: …}]`},
		{"unit: day, requests_per_unit: 5, classes: [{name: live}, {name: live}]", `3:69: invalid classes: name is "live" twice; accepted: each name once`},
		{"unit: day, requests_per_unit: 5, classes: [{name: live}, {name: b, leaves: 5}]", "3:69: invalid classes: leaves is 5 of fixed-window 5/1d align clock; accepted: less than 5 units, so that the class has one"},
		{"unit: day, requests_per_unit: 5, classes: [{name: live}, {name: a, leaves: 2}, {name: b, leaves: 1}]", "3:69: invalid classes: leaves is 1 after 2; accepted: as much as the class before it leaves, or more"},
		{"unit: day, requests_per_unit: 5, classes: [{name: live, leaves: much}]", `3:70: invalid class: leaves is "much"; accepted: 0% to 99%`},
		{"unit: day, requests_per_unit: 5, classes: [{nam: live}]", "3:71: config error, unknown key 'nam'; did you mean \"name\"?"},
		{"unit: day, requests_per_unit: 0, classes: [{name: live}]", "3:26: classes of a rule that is unlimited or lets nothing through; accepted: classes with requests_per_unit of 1 or more"},
		{"unlimited: true, classes: [{name: live}]", "3:26: classes of a rule that is unlimited"},
	} {
		_, err := Load([]File{{Name: "f", Data: []byte("domain: d\ndescriptors:\n  - {key: a, rate_limit: {" + c.limit + "}}\n")}}, LoadOptions{})
		if err == nil {
			t.Errorf("%s: no error", c.limit)
			continue
		}
		if got := err.Error(); len(got) < len(c.want)+2 || got[:len(c.want)+2] != "f:"+c.want {
			t.Errorf("%s:\n got %s\nwant f:%s", c.limit, got, c.want)
		}
	}
}

// TestFairShares checks that a limit is divided among its descriptor's values, and that two rules in a domain do not
// share their units.
func TestFairShares(t *testing.T) {
	f := serving(t, Options{}, `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: 20, algorithm: fair-share, classes: [{name: paid, weight: 3}, {name: free}]}}
  - {key: b, rate_limit: {unit: minute, requests_per_unit: 20, algorithm: fair-share}}
`)
	f.want("OK: OK 0/20 30s", "a=flood x10")
	f.want("OVER_LIMIT: OVER_LIMIT 0/20 3s", "a=flood")
	f.want("OK: OK 0/20 45s", "a=bob x5")
	f.want("OK: OK 0/20 54s, OK", "a=acme x3", "class=paid")
	f.want("OK: OK 0/20 30s", "b=flood x10")
}

// TestAdaptiveRates checks that a rule accepts the fields of its algorithm.
func TestAdaptiveRates(t *testing.T) {
	f := serving(t, Options{}, `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: 8, algorithm: adaptive-rate, min: 4, max: 16, interval: 10s, failures: 10}}
`)
	f.want("OK: OK 0/8 60s", "a=1 x8")
	if got, want := f.config.Load().rules[0].limit.String(), "adaptive-rate 8/1m min 4 max 16 interval 10s failures 10"; got != want {
		t.Errorf("limit %s, want %s", got, want)
	}
}

// TestOutcomes checks that a descriptor whose only entry is outcomes reports them to adaptive rates. The rate falls
// by an eighth after an interval with failures, and a pause stops all requests. Unreadable values are ignored.
func TestOutcomes(t *testing.T) {
	for _, semantics := range []Semantics{Original, Improved} {
		for _, ruled := range []bool{true, false} {
			f := serving(t, Options{Semantics: semantics}, `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: 60, algorithm: adaptive-rate, min: 6, max: 600, interval: 1s, burst: 10}}
`)
			if !ruled {
				f.policies.Policies = nil
			}
			for n, value := range []string{"", "9", "0/9/0/0", "-1/9", "x/9", "0/1048577", "0/9/31622400001"} {
				f.want(fmt.Sprintf("OK: OK %d/60 %ds, OK", 9-n, n+1), "a=1", "outcomes="+value)
			}
			f.clock.Advance(10 * time.Second)
			f.want("OK: OK 9/60 1s, OK", "a=1", "outcomes=8/2") // the rate is unchanged
			f.clock.Advance(time.Second)
			f.want("OK: OK 9/60 2s, OK", "a=1", "outcomes=9/0") // 1/0.875 s, rounded up
			f.want("OVER_LIMIT: OVER_LIMIT 0/60 7s, OK", "a=1", "outcomes=0/1/7000")
			f.want("OVER_LIMIT: OVER_LIMIT 0/60 7s", "a=1")
			f.clock.Advance(7 * time.Second)
			f.want("OK: OK 9/60 2s", "a=1")
		}
	}
}
