package queue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Callers that arrive while a call is in flight are sent together in the next call, in order and up to the maximum per
// call. Callers that have left are not included.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Turns[string, int]
		var calls [][]int
		call := func(callers []int) {
			time.Sleep(time.Second)
			calls = append(calls, callers)
		}
		waiters := make([]*Waiter[int], 6)
		for i := range waiters {
			var ok bool
			if waiters[i], ok = turns.Join("k", i, 5, 3, call); !ok {
				t.Errorf("caller %d was sent away", i)
			}
		}
		if _, ok := turns.Join("k", 6, 5, 3, call); ok {
			t.Error("a sixth caller waits")
		}
		if turns.Leave("k", waiters[0]) || !turns.Leave("k", waiters[2]) || turns.Leave("k", waiters[2]) {
			t.Error("a caller in flight has left, or one that waits has not")
		}
		time.Sleep(1500 * time.Millisecond)
		if turns.Leave("k", waiters[1]) {
			t.Error("a caller in flight has left")
		}
		time.Sleep(time.Minute)
		if turns.Leave("k", waiters[5]) || !turns.set.None("k") {
			t.Error("a call is in flight")
		}
		want := [][]int{{0}, {1, 3, 4}, {5}}
		if !slices.EqualFunc(calls, want, slices.Equal) {
			t.Errorf("calls of %v, want %v", calls, want)
		}
	})
}
