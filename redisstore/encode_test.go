package redisstore

import (
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// A script reads the strings of a reservation with one MGET, up to the first history, and never a single one.
func TestLeadingStrings(t *testing.T) {
	bucket, fixed := headgate.TokenBucket(headgate.PerSecond(1)), headgate.FixedWindow(headgate.PerMinute(5))
	permit, log := headgate.Concurrency(5), headgate.SlidingLog(headgate.PerSecond(1))
	for _, c := range []struct {
		name            string
		limits          []headgate.Limit
		reserve, settle byte
		hashes          hashes
	}{
		{"one", []headgate.Limit{bucket}, 0, 2, 0},
		{"two", []headgate.Limit{bucket, fixed}, 2, 3, 0},
		{"a permit last", []headgate.Limit{bucket, fixed, permit}, 2, 3, 0},
		{"a permit first", []headgate.Limit{permit, bucket, fixed}, 4, 5, 0},
		{"a history between", []headgate.Limit{bucket, log, fixed}, 0, 2, 0},
		{"a history last", []headgate.Limit{bucket, fixed, log}, 2, 3, 0},
		{"a permit alone", []headgate.Limit{permit}, 0, 0, 0},
		{"fields of hashes", []headgate.Limit{bucket, fixed}, 0, 0, 4},
	} {
		s := &Store{prefix: DefaultPrefix, hashes: c.hashes}
		reserve := engine.Op{Kind: engine.OpReserve, ID: "id"}
		for _, l := range c.limits {
			reserve.Charges = append(reserve.Charges, engine.Charge{Limit: l, Cost: 1})
		}
		settle := reserve.Reserving("id").Settle(1)
		if got := s.leadingStrings(&reserve); got != c.reserve {
			t.Errorf("%s, reserved: %d keys, want %d", c.name, got, c.reserve)
		}
		if got := s.leadingStrings(&settle); got != c.settle {
			t.Errorf("%s, settled: %d keys, want %d", c.name, got, c.settle)
		}
	}
}
