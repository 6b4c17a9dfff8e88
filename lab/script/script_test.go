package script

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/lab/model"
)

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 7)) }

// everyOptions returns all combinations of options.
func everyOptions() (all []Options) {
	for n := range 32 {
		all = append(all, Options{ClockSteps: n&1 > 0, Changes: n&2 > 0, All: n&4 > 0, Big: n&8 > 0, Extras: n&16 > 0})
	}
	return all
}

func TestEqualSeedsMakeEqualScripts(t *testing.T) {
	for i, opts := range everyOptions() {
		for _, algorithm := range Algorithms {
			a := Generate(seeded(uint64(i)), algorithm, 60, opts)
			b := Generate(seeded(uint64(i)), algorithm, 60, opts)
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%s %+v: two scripts of one seed differ", algorithm, opts)
			}
		}
	}
}

func TestStepsFallAtEdges(t *testing.T) {
	for _, algorithm := range Algorithms {
		for i, opts := range everyOptions() {
			g := newGenerator(seeded(uint64(i)), algorithm, opts)
			steps := raced.Size(200, 100)
			for range steps {
				g.step()
			}
			if g.edges < steps*2/5 {
				t.Errorf("%s %+v: only %d of %d steps at an edge", algorithm, opts, g.edges, steps)
			}
		}
	}
}

func TestScriptsStayInRange(t *testing.T) {
	for i, opts := range everyOptions() {
		for _, algorithm := range Algorithms {
			checkRange(t, Generate(seeded(uint64(i)), algorithm, raced.Size(150, 60), opts), opts)
		}
	}
}

func checkRange(t *testing.T, c model.Case, opts Options) {
	t.Helper()
	for _, set := range c.LimitSets {
		for _, l := range set {
			if err := l.Check(); err != nil {
				t.Errorf("%+v: %v", l, err)
			}
		}
	}
	last := int64(0)
	for i, s := range c.Steps {
		if s.AtUS < last && !opts.ClockSteps {
			t.Fatalf("%+v step %d: the clock stepped back", c.LimitSets, i)
		}
		if s.AtUS < earliestUS || s.AtUS+s.Want.ResetAfterUS > exactUS || s.N < 0 || s.Want.ResetAfterUS < 0 {
			t.Fatalf("%+v step %d is out of range: %+v", c.LimitSets, i, s)
		}
		last = s.AtUS
	}
}

// Scripts are useful only if every kind of answer occurs in them.
func TestScriptsMeetEveryAnswer(t *testing.T) {
	for _, algorithm := range Algorithms {
		seen := map[string]int{}
		for i := range uint64(40) {
			c := Generate(seeded(i), algorithm, 100, Options{ClockSteps: i%2 > 0, Changes: i%4 > 1, All: i%8 > 3, Big: i%16 > 7})
			for _, s := range c.Steps {
				seen[kind(s)]++
			}
		}
		for _, op := range []string{model.Take, model.Peek} {
			for _, k := range []string{"allowed", "denied", "never"} {
				if seen[op+" "+k] < 40 {
					t.Errorf("%s: only %d of %s %s", algorithm, seen[op+" "+k], op, k)
				}
			}
		}
		for _, k := range []string{"give allowed", "atmost allowed", "atmost denied", "reset allowed"} {
			if seen[k] == 0 {
				t.Errorf("%s: no %s", algorithm, k)
			}
		}
	}
}

func kind(s model.Step) string {
	switch {
	case s.Want.Allowed:
		return s.Op + " allowed"
	case s.Want.RetryAfterUS == nil:
		return s.Op + " never"
	}
	return s.Op + " denied"
}

func BenchmarkGenerate(b *testing.B) {
	for _, algorithm := range Algorithms {
		for _, opts := range []Options{{}, {Big: true, ClockSteps: true, Changes: true}} {
			b.Run(fmt.Sprintf("%s/big=%t", algorithm, opts.Big), func(b *testing.B) {
				for i := range b.N {
					Generate(seeded(uint64(i)), algorithm, 100, opts)
				}
			})
		}
	}
}

func TestLeaseScripts(t *testing.T) {
	seen := map[string]int{}
	for i, opts := range everyOptions() {
		a := GenerateLeases(seeded(uint64(i)), 200, opts)
		if !reflect.DeepEqual(a, GenerateLeases(seeded(uint64(i)), 200, opts)) {
			t.Errorf("%+v: two scripts of one seed differ", opts)
		}
		for _, s := range a.Steps {
			seen[kind(model.Step{Op: s.Op, Want: s.Want})]++
		}
	}
	for _, k := range []string{"acquire allowed", "acquire denied", "acquire never", "renew allowed", "renew never", "release allowed", "held allowed"} {
		if seen[k] < 40 {
			t.Errorf("only %d of %s", seen[k], k)
		}
	}
}
