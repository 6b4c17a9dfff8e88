package redisstore

import (
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// A script reads the string keys of a reservation, up to the first history, with one MGET. It does not use MGET for a
// single string.
func TestLeadingStrings(t *testing.T) {
	bucket, fixed := rule.TokenBucket(rule.PerSecond(1)), rule.FixedWindow(rule.PerMinute(5))
	permit, log := rule.Concurrency(5), rule.SlidingLog(rule.PerSecond(1))
	for _, c := range []struct {
		name            string
		limits          []engine.Limit
		reserve, settle byte
	}{
		{"one", []engine.Limit{bucket}, 0, 3},
		{"two", []engine.Limit{bucket, fixed}, 2, 4},
		{"a permit last", []engine.Limit{bucket, fixed, permit}, 2, 4},
		{"a permit first", []engine.Limit{permit, bucket, fixed}, 4, 6},
		{"a history between", []engine.Limit{bucket, log, fixed}, 0, 3},
		{"a history last", []engine.Limit{bucket, fixed, log}, 2, 4},
		{"a permit alone", []engine.Limit{permit}, 0, 0},
	} {
		reserve := engine.Op{Kind: engine.OpReserve, ID: "id"}
		for _, l := range c.limits {
			reserve.Charges = append(reserve.Charges, engine.Charge{Limit: l, Cost: 1})
		}
		settle := reserve.Reserving("id").Settle(1)
		if got := leadingStrings(&reserve); got != c.reserve {
			t.Errorf("%s, reserved: %d keys, want %d", c.name, got, c.reserve)
		}
		if got := leadingStrings(&settle); got != c.settle {
			t.Errorf("%s, settled: %d keys, want %d", c.name, got, c.settle)
		}
	}
}
