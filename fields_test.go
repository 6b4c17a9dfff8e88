package headgate_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

var second, minute = headgate.PerSecond(5), headgate.PerMinute(50)

// limitsByText maps the text of a limit to the same limit as a Go struct. It covers every field of every algorithm of a
// policy.
var limitsByText = map[string]headgate.Limit{
	"5/s":                         headgate.TokenBucket{Rate: second},
	`5/s burst 7 debt 3 name "n"`: headgate.TokenBucket{Rate: second, Burst: 7, Debt: 3, Name: "n"},
	`adaptive-rate 5/s min 2 max 9 burst 7 interval 500ms failures 10 max_pause 10s name "n"`: headgate.AdaptiveRate{Rate: second, Min: 2, Max: 9, Burst: 7, Interval: 500 * time.Millisecond, Failures: 10, MaxPause: 10 * time.Second, Name: "n"},
	"5/s next_pays":         headgate.TokenBucket{Rate: second, NextPays: true},
	"pacer 5/s max_wait 2s": headgate.Pacer{Rate: second, MaxWait: 2 * time.Second},
	`pacer 5/s burst 2 max_queue 9 next_pays name "n"`:                     headgate.Pacer{Rate: second, MaxQueue: 9, Burst: 2, NextPays: true, Name: "n"},
	`warm-up 5/s warm_up 4s burst 2 next_pays name "n"`:                    headgate.WarmUp{Rate: second, Over: 4 * time.Second, Burst: 2, NextPays: true, Name: "n"},
	`fair-pacer 50/1m burst 5 max_queue 20 weight 2 nested name "n"`:       headgate.FairPacer{Rate: minute, Burst: 5, MaxQueue: 20, Nested: true, Weight: 2, Name: "n"},
	`fair-share 50/1m burst 20 weight 3 nested name "n"`:                   headgate.FairShare{Rate: minute, Burst: 20, Weight: 3, Nested: true, Name: "n"},
	`fixed-window 50/1d align UTC anchor 2026-01-31 count_denied name "n"`: headgate.FixedWindow{Rate: headgate.PerDay(50), Align: "UTC", Anchor: "2026-01-31", CountDenied: true, Name: "n"},
	`sliding-window 5/s 50/1m segment 100ms strict count_denied name "n"`:  headgate.SlidingWindow{Rate: second, And: []headgate.Rate{minute}, Variant: headgate.Strict, SegmentLength: 100 * time.Millisecond, CountDenied: true, Name: "n"},
	"sliding-window 50/1m segments 6 weighted":                             headgate.SlidingWindow{Rate: minute, Segments: 6, Variant: headgate.Weighted},
	`sliding-log 5/s 50/1m count_denied name "n"`:                          headgate.SlidingLog{Rate: second, And: []headgate.Rate{minute}, CountDenied: true, Name: "n"},
	`penalty 50/1m block 2m max_block 10m forget 1h name "n"`:              headgate.Penalty{Rate: minute, Block: 2 * time.Minute, MaxBlock: 10 * time.Minute, Forget: time.Hour, Name: "n"},
}

// semaphoresByText is limitsByText for the limits of semaphores.
var semaphoresByText = map[string]headgate.ConcurrencyLimit{
	"concurrency 5 lease 2s":                headgate.Concurrency{Units: 5, Lease: 2 * time.Second},
	"fair-concurrency 50 lease 2s weight 3": headgate.FairConcurrency{Units: 50, Lease: 2 * time.Second, Weight: 3},
}

// builtLimits returns the engine's limit for each struct of limitsByText and semaphoresByText, by its text.
func builtLimits(t *testing.T) map[string]built {
	t.Helper()
	all := map[string]built{}
	for text, from := range structsByText() {
		limit, err := builtFrom(from)
		if err != nil {
			t.Error(err)
		}
		all[text] = built{limit, reflect.TypeOf(from)}
	}
	return all
}

func structsByText() map[string]any {
	all := map[string]any{}
	for text, limit := range limitsByText {
		all[text] = limit
	}
	for text, limit := range semaphoresByText {
		all[text] = limit
	}
	return all
}

// builtFrom returns the engine's limit for a struct.
func builtFrom(from any) (engine.Limit, error) {
	l := headgate.New()
	defer l.Close()
	if limit, ok := from.(headgate.ConcurrencyLimit); ok {
		s := l.Semaphore("s", limit)
		if s.Err() != nil {
			return engine.Limit{}, s.Err()
		}
		return s.Core().Limits()[0], nil
	}
	limits := []headgate.Limit{from.(headgate.Limit)}
	if _, punishes := from.(headgate.Penalty); punishes { // not alone
		limits = append(limits, headgate.NoLimit())
	}
	p := l.Policy("p", limits...)
	if p.Err() != nil {
		return engine.Limit{}, p.Err()
	}
	return p.Core().Limits()[0], nil
}

type built struct {
	engine.Limit
	from reflect.Type
}

// Every field of a limit reaches the engine, and a zero field means the default.
func TestFieldsOfLimits(t *testing.T) {
	for want, limit := range builtLimits(t) {
		if got := limit.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := second.String(); got != "5/s" {
		t.Error(got)
	}
}

// Each field of each struct changes the text of a limit in limitsByText or semaphoresByText.
func TestEveryFieldIsConverted(t *testing.T) {
	converted := map[string]bool{}
	for text, from := range structsByText() {
		full := reflect.ValueOf(from)
		for i := range full.NumField() {
			less := reflect.New(full.Type()).Elem()
			less.Set(full)
			less.Field(i).SetZero()
			limit, err := builtFrom(less.Interface())
			name := full.Type().Name() + "." + full.Type().Field(i).Name
			converted[name] = converted[name] || err != nil || limit.String() != text
		}
	}
	for name, ok := range converted {
		if !ok {
			t.Errorf("%s changes no limit: set it in the structs above, and convert it in the method rule", name)
		}
	}
}

// Each algorithm has a struct of its own, with fields for the rate and for each setting of the algorithm, and no others.
// The limit of a semaphore has no name, because its policy has one.
func TestEveryAlgorithmHasItsStruct(t *testing.T) {
	structs, missing := map[reflect.Type]algo.Algorithm{}, algo.Algorithms()
	for _, limit := range builtLimits(t) {
		a := limit.Algorithm()
		if other, ok := structs[limit.from]; ok && other != a {
			t.Errorf("%s is of %s and of %s", limit.from, a, other)
		}
		structs[limit.from] = a
		missing = slices.DeleteFunc(missing, func(b algo.Algorithm) bool { return a == b })
		fields := len(a.Fields()) + 1
		if a.Holds() {
			fields--
		}
		if limit.from.NumField() != fields {
			t.Errorf("%s has %d fields, want one for the rate and %v", limit.from, limit.from.NumField(), a.Fields())
		}
	}
	for _, a := range missing {
		if !a.Constant() {
			t.Errorf("no limit of %s is in limitsByText or semaphoresByText", a)
		}
	}
}
