package linearize

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// A list is a single operation: nothing can happen between its two charges.
func TestListsAreAtomic(t *testing.T) {
	const now = 1_800_000_000_000_000
	limit := rule.FixedWindow(rule.Per(20, time.Hour))
	done := func(client int, from, to int64, kind engine.Kind, on [2]bool, cost, first, second int64) porcupine.Operation {
		return porcupine.Operation{
			ClientId: client, Call: from, Return: to,
			Input:  Asked{Kind: kind, On: on, Cost: [2]int64{cost, cost}},
			Output: Answered{Allowed: true, At: now, Remaining: [2]int64{first, second}},
		}
	}
	first, second, both := [2]bool{true, false}, [2]bool{false, true}, [2]bool{true, true}
	list := done(0, 0, 100, engine.OpAllow, both, 3, 17, 17)
	for name, c := range map[string]struct {
		others []porcupine.Operation
		want   bool
	}{
		"both keys before it":        {[]porcupine.Operation{done(1, 10, 20, engine.OpPeek, second, 1, 0, 20), done(1, 30, 40, engine.OpPeek, first, 1, 20, 0)}, true},
		"both keys after it":         {[]porcupine.Operation{done(1, 10, 20, engine.OpPeek, first, 1, 17, 0), done(1, 30, 40, engine.OpPeek, second, 1, 0, 17)}, true},
		"one after, then one before": {[]porcupine.Operation{done(1, 10, 20, engine.OpPeek, first, 1, 17, 0), done(1, 30, 40, engine.OpPeek, second, 1, 0, 20)}, false},
		"a list between its charges": {[]porcupine.Operation{done(1, 10, 20, engine.OpPeek, both, 1, 17, 20)}, false},
		"a take between them":        {[]porcupine.Operation{done(1, 10, 20, engine.OpAllow, second, 1, 0, 19)}, false},
	} {
		if got := porcupine.CheckOperations(sequential(limit), append(c.others, list)); got != c.want {
			t.Errorf("%s: in order %t, want %t", name, got, c.want)
		}
	}
}

// The store time of an operation must not be earlier than for an operation on the same pair that ended before it began.
func TestStoreTimeThatWentBack(t *testing.T) {
	done := func(pair int, from, to, at int64) porcupine.Operation {
		return porcupine.Operation{Call: from, Return: to, Input: Asked{Pair: pair}, Output: Answered{At: at}}
	}
	early, late := done(0, 0, 10, 500), done(0, 0, 60, 900)
	for name, c := range map[string]struct {
		other porcupine.Operation
		want  bool
	}{
		"later and back":     {done(0, 11, 20, 499), true},
		"later":              {done(0, 11, 20, 500), false},
		"at the same time":   {done(0, 10, 20, 499), false},
		"on another pair":    {done(1, 11, 20, 499), false},
		"behind the longest": {done(0, 70, 80, 899), true},
	} {
		if from, to, got := wentBack([]porcupine.Operation{c.other, early, late}); got != c.want {
			t.Errorf("%s: went back %t, from %d to %d", name, got, from, to)
		}
	}
}
