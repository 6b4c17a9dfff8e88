package policy

import (
	"fmt"
	"slices"
	"testing"

	"github.com/headgate/headgate/engine"
)

// A mode without a row, or a row that cannot be told from another, is an error at the start of the program.
func TestModesHaveRows(t *testing.T) {
	for name, added := range map[string]mode{
		"no row":           {},
		"no strictness":    {name: "stale", answer: "an old decision"},
		"the same name":    {name: "deny", answer: "another error", strictness: 99},
		"equal strictness": {name: "stale", answer: "an old decision", strictness: 2},
	} {
		if checkModes(append(slices.Clone(failures[:]), added)) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := checkModes(append(slices.Clone(failures[:]), mode{name: "stale", answer: "an old decision", strictness: 99})); err != nil {
		t.Error(err)
	}
	if got := failureCount.String(); got != "deny" { // never a mode that admits
		t.Errorf("a number that is no mode is %s", got)
	}
}

// The strictest mode of a request's policies applies, whatever their order.
func TestStrictestModeApplies(t *testing.T) {
	for _, c := range [][3]Failure{{Deny, Local, Deny}, {Local, Allow, Local}, {Allow, Deny, Deny}, {Weakest(), Local, Local}, {Weakest(), Allow, Allow}} {
		if a, b := c[0].And(c[1]), c[1].And(c[0]); a != c[2] || b != c[2] {
			t.Errorf("%v and %v: %v, %v, want %v", c[0], c[1], a, b, c[2])
		}
	}
}

// A take that is admitted without a decision is granted its cost, and a peek nothing.
func TestAllowGrantsTheCost(t *testing.T) {
	unknown := fmt.Errorf("no answer")
	for kind, want := range map[engine.Kind]int64{engine.OpAllow: 3, engine.OpPeek: 0, engine.OpCount: 3} {
		if d, ok := Allow.Answer(kind, 3, unknown); !ok || !d.Allowed || d.Granted != want {
			t.Errorf("%v: %v %+v", kind, ok, d)
		}
		for _, f := range []Failure{Deny, Local} {
			if _, ok := f.Answer(kind, 3, unknown); ok {
				t.Errorf("%v answers %v", f, kind)
			}
		}
	}
}
