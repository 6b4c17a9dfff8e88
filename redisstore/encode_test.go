package redisstore

import (
	"strings"
	"testing"
	"time"

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
		hashes          hashes
	}{
		{"one", []engine.Limit{bucket}, 0, 3, 0},
		{"two", []engine.Limit{bucket, fixed}, 2, 4, 0},
		{"a permit last", []engine.Limit{bucket, fixed, permit}, 2, 4, 0},
		{"a permit first", []engine.Limit{permit, bucket, fixed}, 4, 6, 0},
		{"a history between", []engine.Limit{bucket, log, fixed}, 0, 3, 0},
		{"a history last", []engine.Limit{bucket, fixed, log}, 2, 4, 0},
		{"a permit alone", []engine.Limit{permit}, 0, 0, 0},
		{"fields of hashes", []engine.Limit{bucket, fixed}, 0, 3, 4},
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

// Regression: with hashes, the field of each state is noted at the index of the state's key, although other keys come
// first in a settle and in a reservation with a term.
func TestFieldsOfReservations(t *testing.T) {
	limits := []engine.Limit{rule.Concurrency(5), rule.TokenBucket(rule.PerSecond(1)), rule.SlidingLog(rule.PerSecond(1)), rule.FixedWindow(rule.PerMinute(5))}
	s := &Store{prefix: DefaultPrefix, hashes: 4, conn: &slowMarker{}}
	for _, term := range []*engine.Term{nil, {Within: time.Second}} {
		reserve := engine.Op{Kind: engine.OpReserve, ID: "id", Key: "ann", Term: term}
		for _, l := range limits {
			reserve.Charges = append(reserve.Charges, engine.Charge{Limit: l, Cost: 1})
		}
		settle := reserve.Reserving("id").Settle(1)
		for _, op := range []*engine.Op{&reserve, &settle} {
			p := &pipeline{store: s}
			s.appendKeys(nil, op, p.endArg)
			p.noteFields(op)
			var noted []string
			for _, f := range p.fields {
				noted = append(noted, s.Keys(op)[f.key])
			}
			if len(noted) != 2 || !strings.Contains(noted[0], "/token-bucket/") || !strings.Contains(noted[1], "/fixed-window:") {
				t.Errorf("%s, term %v: the fields are noted at %q", op.Kind, term, noted)
			}
		}
	}
}
