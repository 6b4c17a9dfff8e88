package queue

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Callers continue in the order of their slots, in whatever order they were added. When callers leave, the callers
// after them move up, and the last slots are given back, starting with the last one.
func TestSlotsMoveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slots Slots[string, int]
		var back []int
		giveBack := func(reservations []int) {
			time.Sleep(time.Millisecond)
			back = append(back, reservations...)
		}
		start := time.Now()
		waiters := map[int]SlotWaiter{}
		for _, slot := range []int{3, 1, 2, 6, 5, 4} {
			waiters[slot] = slots.Take("k", Slot[int]{At: start.Add(time.Duration(slot) * time.Second), Units: 1, Reservation: slot})
		}
		leave, cancel := context.WithCancel(context.Background())
		var mu sync.Mutex
		passed := map[int]int{} // each caller's reservation, and the second when the caller continued
		var all sync.WaitGroup
		for slot, waiter := range waiters {
			ctx := context.Background()
			if slot == 2 || slot == 3 {
				ctx = leave
			}
			all.Go(func() {
				used, err := slots.Wait(ctx, nil, "k", waiter, math.MaxInt, giveBack)
				if left := slot == 2 || slot == 3; left != errors.Is(err, context.Canceled) || !left && err != nil {
					t.Errorf("caller %d: %v", slot, err)
				}
				if mu.Lock(); err == nil {
					passed[slot] = used
					if took := time.Since(start); took != time.Duration(used)*time.Second {
						t.Errorf("caller %d goes on after %s in slot %d", slot, took, used)
					}
				}
				mu.Unlock()
			})
		}
		time.Sleep(1500 * time.Millisecond)
		cancel()
		all.Wait()
		if want := map[int]int{1: 1, 4: 2, 5: 3, 6: 4}; len(passed) != 4 || passed[4] != want[4] || passed[5] != want[5] || passed[6] != want[6] {
			t.Errorf("%v, want %v", passed, want)
		}
		if !slices.Equal(back, []int{6, 5}) {
			t.Errorf("%v came back, want 6 and then 5", back)
		}
		if !slots.set.None("k") {
			t.Error("somebody waits")
		}
	})
}

// The units of callers that leave go to the callers after them. A reservation comes back if nobody needs its units, and
// a part of one is used as early as it would have been reserved alone.
func TestSlotsOfDifferentUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slots Slots[string, int]
		start := time.Now()
		waiters, at := []SlotWaiter{}, time.Duration(0)
		for i, units := range []int64{2, 1, 5, 3, 1} { // slots at 2, 3, 8, 11 and 12 s
			at += time.Duration(units) * time.Second
			waiters = append(waiters, slots.Take("k", Slot[int]{At: start.Add(at), Units: units, Early: time.Second, Reservation: i}))
		}
		for _, step := range []struct {
			leaves int
			back   []Slot[int]
		}{
			{0, []Slot[int]{{Reservation: 4, Units: 1}}}, // another unit is free, and the last reservation has 3
			{3, []Slot[int]{{Reservation: 3, Units: 3}}},
		} {
			back := slots.Drop("k", waiters[step.leaves])
			if !slices.EqualFunc(back, step.back, func(a, b Slot[int]) bool { return a.Reservation == b.Reservation && a.Units == b.Units }) {
				t.Errorf("after %d left, %+v came back, want %+v", step.leaves, back, step.back)
			}
		}
		for i, want := range map[int]time.Duration{1: time.Second, 2: 6 * time.Second, 4: 7 * time.Second} {
			go func() {
				if _, err := slots.Until(t.Context(), nil, "k", waiters[i]); err != nil || time.Since(start) != want {
					t.Errorf("caller %d: %v after %s, want %s", i, err, time.Since(start), want)
				}
			}()
		}
		time.Sleep(time.Minute)
		if !slots.set.None("k") {
			t.Error("somebody waits")
		}
	})
}

// When the owner is closed, every wait ends with an error and gives its reservation back. A caller whose slot is
// earlier than the first waiter's slot goes first.
func TestSlotsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slots Slots[string, int]
		end := make(chan struct{})
		back := 0
		giveBack := func(reservations []int) { back += len(reservations) }
		start := time.Now()
		var all sync.WaitGroup
		wait := func(slot time.Duration, want error, after time.Duration) {
			waiter := slots.Take("k", Slot[int]{At: start.Add(slot), Units: 1})
			all.Go(func() {
				if _, err := slots.Wait(context.Background(), end, "k", waiter, 1, giveBack); !errors.Is(err, want) || time.Since(start) != after {
					t.Errorf("the slot after %s: %v after %s", slot, err, time.Since(start))
				}
			})
			synctest.Wait()
		}
		wait(10*time.Second, nil, 10*time.Second)
		wait(5*time.Second, nil, 5*time.Second)
		wait(time.Hour, ErrEnded, time.Minute)
		wait(2*time.Hour, ErrEnded, time.Minute)
		time.Sleep(time.Minute)
		close(end)
		all.Wait()
		if back != 2 {
			t.Errorf("%d came back, want 2", back)
		}
	})
}
