package headgate_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine/algo"
)

var second, minute = headgate.PerSecond(5), headgate.PerMinute(50)

// limitsByText maps the text of a limit to the same limit as a Go struct. It covers every field of every algorithm
// except concurrency limits, which a policy cannot have.
var limitsByText = map[string]headgate.Limit{
	"5/s":                         headgate.TokenBucket{Rate: second},
	`5/s burst 7 debt 3 name "n"`: headgate.TokenBucket{Rate: second, Burst: 7, Debt: 3, Name: "n"},
	`adaptive-rate 5/s min 2 max 9 burst 7 interval 500ms failures 10 max_pause 10s name "n"`: headgate.TokenBucket{Rate: second, Min: 2, Max: 9, Burst: 7, Interval: 500 * time.Millisecond, Failures: 10, MaxPause: 10 * time.Second, Name: "n"},
	"5/s next_pays":         headgate.TokenBucket{Rate: second, NextPays: true},
	"pacer 5/s max_wait 2s": headgate.Pacer{Rate: second, MaxWait: 2 * time.Second},
	`pacer 5/s burst 2 max_queue 9 next_pays name "n"`:                     headgate.Pacer{Rate: second, MaxQueue: 9, Burst: 2, NextPays: true, Name: "n"},
	`warm-up 5/s warm_up 4s burst 2 next_pays name "n"`:                    headgate.WarmUp{Rate: second, Over: 4 * time.Second, Burst: 2, NextPays: true, Name: "n"},
	`fair-pacer 50/1m burst 5 max_queue 20 nested`:                         headgate.FairShare{Rate: minute, Burst: 5, MaxQueue: 20, Nested: true},
	`fair-share 50/1m burst 20 weight 3 name "n"`:                          headgate.FairShare{Rate: minute, Burst: 20, Weight: 3, Name: "n"},
	`fixed-window 50/1d align UTC anchor 2026-01-31 count_denied name "n"`: headgate.FixedWindow{Rate: headgate.PerDay(50), Align: "UTC", Anchor: "2026-01-31", CountDenied: true, Name: "n"},
	`sliding-window 5/s 50/1m segment 100ms strict count_denied name "n"`:  headgate.SlidingWindow{Rate: second, And: []headgate.Rate{minute}, Variant: "strict", SegmentLength: 100 * time.Millisecond, CountDenied: true, Name: "n"},
	"sliding-window 50/1m segments 6 weighted":                             headgate.SlidingWindow{Rate: minute, Segments: 6},
	`sliding-log 5/s 50/1m count_denied name "n"`:                          headgate.SlidingLog{Rate: second, And: []headgate.Rate{minute}, CountDenied: true, Name: "n"},
	`penalty 50/1m block 2m max_block 10m forget 1h name "n"`:              headgate.Penalty{Rate: minute, Block: 2 * time.Minute, MaxBlock: 10 * time.Minute, Forget: time.Hour, Name: "n"},
}

// Every field of a limit reaches the engine, and a zero field means the default.
func TestFieldsOfLimits(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	for want, limit := range limitsByText {
		p := l.Policy("p", limit)
		if got := core.Limits(p)[0].String(); got != want || p.Err() != nil {
			t.Errorf("%s, %v; want %s", got, p.Err(), want)
		}
	}
	if got := second.String(); got != "5/s" {
		t.Error(got)
	}
}

// selects lists the fields that a struct has only to select an algorithm.
var selects = map[reflect.Type][]string{
	reflect.TypeFor[headgate.Concurrency](): {"Fair"},
}

// For each algorithm there is a struct with fields for the rate and for each setting of the algorithm. The setting
// warm_up is the field Over. A struct can have the fields of several algorithms. A field that only selects the algorithm
// is in the list selects.
func TestEveryAlgorithmHasItsFields(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	fields := map[reflect.Type]map[string]bool{}
	tried := func(a algo.Algorithm, of reflect.Type) {
		if fields[of] == nil {
			fields[of] = map[string]bool{}
		}
		for _, field := range a.Fields() {
			fields[of][field] = true
		}
	}
	missing := algo.Algorithms()
	for _, limit := range limitsByText {
		a := core.Limits(l.Policy("p", limit))[0].Algorithm()
		tried(a, reflect.TypeOf(limit))
		missing = slices.DeleteFunc(missing, func(b algo.Algorithm) bool { return a == b })
	}
	for _, a := range missing {
		if a.Holds() {
			tried(a, reflect.TypeFor[headgate.Concurrency]())
		} else if !a.Constant() {
			t.Errorf("no limit of %s is in limitsByText", a)
		}
	}
	delete(fields[reflect.TypeFor[headgate.Concurrency]()], "name") // a semaphore is named by its policy
	for of, has := range fields {
		for _, field := range selects[of] {
			has[field] = true
		}
		if of.NumField() != len(has)+1 {
			t.Errorf("%s has %d fields, want one for the rate and %v", of, of.NumField(), slices.Sorted(maps.Keys(has)))
		}
	}
}
