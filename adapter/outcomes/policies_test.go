package outcomes_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/headgate/headgate/adapter/outcomes"
)

// TestBounded checks that policies beyond the bound share one value, and that earlier policies keep their values,
// even if policies are added concurrently.
func TestBounded(t *testing.T) {
	var mu sync.Mutex
	made := map[string]int{}
	m := outcomes.NewMap(func(policy string) string {
		mu.Lock()
		defer mu.Unlock()
		made[policy]++
		return policy
	})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for i := range 2 * outcomes.Most {
				name := fmt.Sprint("p", i)
				if got := m.Of("policy:" + name); got != name && got != outcomes.Other {
					t.Errorf("%s got the value of %s", name, got)
				}
			}
		})
	}
	callers.Wait()
	if got := m.Of("policy:p0"); got != "p0" {
		t.Errorf("p0 has become %s", got)
	}
	if got := m.Of("shop"); got != outcomes.Inline {
		t.Errorf("an ad-hoc limit is counted as %s", got)
	}
	if len(made) != outcomes.Most+2 {
		t.Errorf("%d values, want %d", len(made), outcomes.Most+2)
	}
	for policy, n := range made {
		if n != 1 {
			t.Errorf("%s was made %d times", policy, n)
		}
	}
}

// A name that is not valid for a policy must not become a label.
func TestInvalidNamesShareAValue(t *testing.T) {
	m := outcomes.NewMap(func(policy string) string { return policy })
	if got := m.Of("policy:caf\xe9"); got != outcomes.Other {
		t.Errorf("a name that is no text is counted as %q", got)
	}
}

func TestKeepsNoBorrowedString(t *testing.T) {
	m := outcomes.NewMap(func(policy string) string { return policy })
	borrowed := []byte("policy:api")
	space := string(borrowed)
	if n := testing.AllocsPerRun(100, func() { m.Of(space) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
