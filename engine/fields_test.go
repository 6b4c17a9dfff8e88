package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// faster lists the ways of deciding in package algo that are faster than the steps.
var faster = map[string]func(*algo.Limit) bool{
	"the fast path": (*algo.Limit).HasFastPath,
	"prefetching":   (*algo.Limit).Prefetchable,
}

// withRow runs f while limits of the algorithm have one more field, which is set in every limit.
func withRow(a algo.Algorithm, f func()) {
	before := fieldsOf[a]
	defer func() { fieldsOf[a] = before }()
	lacks := slices.IndexFunc(fields, func(f Field) bool { return !a.Has(f.Name) }) // the names of new fields have no bit
	row := &Field{Name: fields[lacks].Name, text: func(*spec) string { return "new" }}
	fieldsOf[a] = append(slices.Clip(before), row)
	f()
}

// A limit with a field that was added to the table is decided by the steps, whatever algorithm has the field, until the
// faster ways list it.
func TestNewFieldIsDecidedByTheSteps(t *testing.T) {
	supported := map[string]int{}
	for i, a := range algo.Algorithms() {
		// Limits are interned with their fields, so the limit with the new field has another rate.
		limit := func(count int64) Limit {
			rate := []Rate{Per(count, 17*time.Minute)}
			switch {
			case a.Has("max_queue"):
				return Build(a, rate, Setting{Field: "max_queue", Units: 100})
			case a.Has("warm_up"):
				return Build(a, rate, Setting{Field: "warm_up", Span: time.Hour})
			case a.Has("min"):
				return Build(a, rate, Setting{Field: "min", Units: 1}, Setting{Field: "max", Units: 1000})
			default:
				return Build(a, rate)
			}
		}
		if a.Constant() {
			continue // has no fields
		}
		before := limit(997 - int64(2*i))
		if before.Err() != nil {
			t.Fatal(before.Err())
		}
		withRow(a, func() {
			after := limit(996 - int64(2*i))
			for way, decides := range faster {
				if decides(before.Numbers()) {
					supported[way]++
				}
				if decides(after.Numbers()) {
					t.Errorf("%s decides a %s with a new field", way, a)
				}
			}
		})
	}
	for way := range faster {
		if supported[way] < 4 {
			t.Errorf("%s decides the limits of %d algorithms", way, supported[way])
		}
	}
}

// A limit has the fields that differ from their defaults, also if it was derived from another limit.
func TestFieldsOfLimits(t *testing.T) {
	set := func(text string) algo.Fields {
		l, err := ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		return l.Numbers().Fields
	}
	for text, want := range map[string]algo.Fields{
		"10/1s":                            algo.FieldsOf(),
		"10/1s burst 10 debt 0":            algo.FieldsOf(),
		"10/1s burst 7 debt 3 name a":      algo.FieldsOf("burst", "debt", "name"),
		"pacer 10/1s max_wait 0s":          algo.FieldsOf("max_wait"),
		"fixed-window 10/1s align first":   algo.FieldsOf(),
		"sliding-log 1/1s 10/1m":           algo.FieldsOf("windows"),
		"fair-share 10/1s nested weight 3": algo.FieldsOf("nested", "weight"),
	} {
		if got := set(text); got != want {
			t.Errorf("%s: %b, want %b", text, got, want)
		}
	}
	debt, err := ParseLimit("100/1s debt 3")
	if err != nil {
		t.Fatal(err)
	}
	lowered, err := debt.ForClass(Leave{Units: 10})
	if err != nil || lowered.Numbers().Fields != algo.FieldsOf("burst") {
		t.Errorf("%v, %v: %b", lowered, err, lowered.Numbers().Fields)
	}
	if algo.Fields(0).Within(algo.FieldsOf()) {
		t.Error("a limit whose fields were not computed is decided by a faster way")
	}
}

// TestFieldsImplyAlgorithms checks that a text without an algorithm has the first algorithm with its field, also if the
// field is a flag.
func TestFieldsImplyAlgorithms(t *testing.T) {
	for text, want := range map[string]algo.Algorithm{
		"100/s weight 3": algo.FairShare, "100/s nested": algo.FairShare, "100/s max_queue 5": algo.Pacer,
		"5/1m align clock": algo.FixedWindow, "5/1m next_pays": algo.TokenBucket,
	} {
		limit, err := ParseLimit(text)
		if err != nil {
			t.Fatal(text, err)
		}
		if got := limit.Algorithm(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
