package engine_test

import (
	"errors"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// TestLimitTwice checks that a request cannot contain two limits with the same algorithm and name, even with different
// windows, and that charges with their own keys cannot share a state.
func TestLimitTwice(t *testing.T) {
	minute, hour := rule.FixedWindow(rule.PerMinute(1)), rule.FixedWindow(rule.PerHour(1))
	for name, c := range map[string]struct {
		charges []engine.Charge
		twice   bool
	}{
		"one limit":                 {[]engine.Charge{{Limit: minute}, {Limit: minute}}, true},
		"two windows":               {[]engine.Charge{{Limit: minute}, {Limit: hour}}, true},
		"two names":                 {[]engine.Charge{{Limit: minute}, {Limit: rule.FixedWindow(rule.PerMinute(1), rule.Named("b"))}}, false},
		"two keys":                  {[]engine.Charge{{Limit: minute, Key: "a"}, {Limit: minute, Key: "b"}}, false},
		"one key of their own":      {[]engine.Charge{{Limit: minute, Key: "a"}, {Limit: minute, Key: "a"}}, true},
		"two windows of an own key": {[]engine.Charge{{Limit: minute, Key: "a"}, {Limit: hour, Key: "a"}}, false},
		"two that count nothing":    {[]engine.Charge{{Limit: engine.DenyAll()}, {Limit: engine.DenyAll()}}, false},
	} {
		op := engine.Op{Kind: engine.OpAllow, Key: "k", Charges: c.charges}
		if err := op.Check(); errors.Is(err, engine.ErrInvalid) != c.twice {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhose checks that under a nested limit the numbers of all keys with the same first part identify the same
// group.
func TestWhose(t *testing.T) {
	nested, err := engine.ParseLimit("fair-share 100/s nested")
	if err != nil {
		t.Fatal(err)
	}
	number := func(limit engine.Limit, key string) uint64 {
		op := engine.Single(engine.OpAllow, key, limit, 1)
		return op.KeyHash(0)
	}
	for key, group := range map[string]string{
		"acme:alice": "acme", "acme:bob:x": "acme", "acme": "acme", ":": "", `a\:b:c`: `a\:b`, `a\:b`: `a\:b`, `a\\:b`: `a\\`, `a\`: `a\`,
	} {
		whose := number(nested, key)
		if engine.GroupOf(key) != group || whose>>32 != number(nested, group)>>32 {
			t.Errorf("%q is not in the group %q", key, group)
		}
		if key != group && whose == number(nested, group) {
			t.Errorf("%q and its group are one key", key)
		}
	}
	if alone := rule.FairShare(rule.PerSecond(100)); number(alone, "acme:alice")>>32 == number(nested, "acme:alice")>>32 {
		t.Error("without groups a key has the number of its first part")
	}
}
