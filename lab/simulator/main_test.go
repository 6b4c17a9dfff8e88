package main

import (
	"strings"
	"sync/atomic"
	"testing"
)

func TestCommand(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"-only", "neighbour", "-seeds", "1"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "| neighbour | ") || !strings.Contains(out.String(), "1 scenarios with 1 seeds") {
		t.Errorf("printed %s", out.String())
	}
}

func TestCommandWithWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"-only", "no such"}, {"-seeds", "-1", "-only", "steady"}} {
		if err := run(args, &strings.Builder{}); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// TestEachPlaceOnce checks that the function is called once for each index.
func TestEachPlaceOnce(t *testing.T) {
	for _, n := range []int{0, 1, 100} {
		counts := make([]atomic.Int32, n)
		parallel(n, func(i int) { counts[i].Add(1) })
		for i := range counts {
			if got := counts[i].Load(); got != 1 {
				t.Errorf("place %d of %d: called %d times", i, n, got)
			}
		}
	}
}
