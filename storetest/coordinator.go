package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
)

// Coordinating is a store that is also a coordinator.
type Coordinating interface {
	engine.Coordinator
	Close() error
}

// CoordinatorOptions configures how to open a coordinator under test.
type CoordinatorOptions struct {
	// New returns a coordinator that shares nothing with other coordinators and reads its time from now.
	New func(t *testing.T, now func() time.Time) Coordinating
}

// RunCoordinator runs every case on a new coordinator.
func RunCoordinator(t *testing.T, o CoordinatorOptions) {
	t.Helper()
	for name, run := range map[string]func(t *testing.T, c Coordinating, clock *headgatetest.Clock){
		"members": runMembers, "full group": runFullGroup, "values": runValues, "races": runRaces,
		"bad input": runBadNames, "end": runEnd,
	} {
		t.Run(name, func(t *testing.T) {
			clock := headgatetest.NewClock()
			c := o.New(t, clock.Now)
			defer func() { _ = c.Close() }()
			run(t, c, clock)
		})
	}
}

var anyTime = context.Background()

// runMembers checks that a member is neither counted for too long nor dropped too early. Prefetched units depend on
// this, because they are divided by the number of live members.
func runMembers(t *testing.T, c Coordinating, clock *headgatetest.Clock) {
	t.Helper()
	beat := func(group, member string, life time.Duration, want ...string) {
		t.Helper()
		got, err := c.Beat(anyTime, group, member, life)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("beat of %s: %q, %v, want %q", member, got, err, want)
		}
	}
	beat("g", "b", 10*second, "b")
	beat("g", "a", 2*second, "a", "b")
	beat("other", "c", second, "c")
	clock.Advance(2*second - time.Microsecond)
	beat("g", "b", 10*second, "a", "b")
	clock.Advance(time.Microsecond)
	beat("g", "b", 10*second, "b")                          // a's lifetime ends, exact to the µs
	beat("g", "a", time.Hour, "a", "b")                     // a can return
	beat("g", "a", second, "a", "b")                        // the last beat applies
	beat("g", "}{\x00", second, "a", "b", "}{\x00")         // a name may contain any bytes
	beat("}{\x00", "a", second, "a")                        //
	if err := c.Leave(anyTime, "g", "}{\x00"); err != nil { // a member that leaves is removed at once
		t.Error(err)
	}
	if err := c.Leave(anyTime, "nobody", "x"); err != nil { // leaving is idempotent
		t.Error(err)
	}
	clock.Advance(second)
	beat("g", "b", second, "b")
	clock.Advance(time.Hour)
	beat("g", "z", second, "z")
}

func runFullGroup(t *testing.T, c Coordinating, clock *headgatetest.Clock) {
	t.Helper()
	for i := range engine.MaxMembers {
		if _, err := c.Beat(anyTime, "g", fmt.Sprint("m", i), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Beat(anyTime, "g", "one more", time.Minute); !errors.Is(err, engine.ErrGroupFull) || !errors.Is(err, engine.ErrStoreUnavailable) {
		t.Errorf("one member too many: %v", err)
	}
	if all, err := c.Beat(anyTime, "g", "m7", time.Minute); err != nil || len(all) != engine.MaxMembers {
		t.Errorf("a member of a full group: %d, %v", len(all), err)
	}
	clock.Advance(time.Minute)
	if all, err := c.Beat(anyTime, "g", "one more", time.Minute); err != nil || len(all) != 1 {
		t.Errorf("after the others' lives ended: %q, %v", all, err)
	}
}

// runValues checks that a caller can replace a value only if it has read the value's current version.
func runValues(t *testing.T, c Coordinating, clock *headgatetest.Clock) {
	t.Helper()
	if v, version, err := c.Get(anyTime, "n"); v != "" || version != 0 || err != nil {
		t.Errorf("before any value is stored: %q, %d, %v", v, version, err)
	}
	set := func(version int64, value string, want bool) int64 {
		t.Helper()
		now, swapped, err := c.CompareAndSet(anyTime, "n", version, value)
		if err != nil || swapped != want {
			t.Errorf("set %q at %d: %t, %v, want %t", value, version, swapped, err, want)
		}
		return now
	}
	if now := set(7, "x", false); now != 0 {
		t.Errorf("without a value the version is %d", now)
	}
	first := set(0, "one", true)
	if first < clock.Now().UnixMicro() {
		t.Errorf("version %d is below the store's time: a store that has lost its data could repeat it", first)
	}
	if now := set(0, "again", false); now != first {
		t.Errorf("the current version is %d, returned %d", first, now)
	}
	clock.Advance(-time.Hour) // versions increase even if the clock goes back
	second := set(first, "", true)
	if v, version, err := c.Get(anyTime, "n"); v != "" || version != second || second <= first || err != nil {
		t.Errorf("an empty value is a value: %q, %d after %d, %v", v, version, first, err)
	}
	set(first, "late", false)
	clock.Advance(1000 * time.Hour)
	binary := strings.Repeat("\x00\xff}{", 1000)
	third := set(second, binary, true)
	if v, version, _ := c.Get(anyTime, "n"); v != binary || version != third || third <= second {
		t.Errorf("a value may have any bytes and does not expire: %d bytes, version %d after %d", len(v), version, second)
	}
	if v, version, err := c.Get(anyTime, "N"); v != "" || version != 0 || err != nil {
		t.Errorf("another name has the value: %q, %d, %v", v, version, err)
	}
}

// runRaces checks that if several callers replace the same version, exactly one of them succeeds.
func runRaces(t *testing.T, c Coordinating, _ *headgatetest.Clock) {
	t.Helper()
	const writers, each = 16, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < each; {
				value, version, err := c.Get(anyTime, "n")
				if err != nil {
					t.Error(err)
					return
				}
				_, swapped, err := c.CompareAndSet(anyTime, "n", version, value+"x")
				if err != nil {
					t.Error(err)
					return
				}
				if swapped {
					done++
				}
			}
		})
	}
	wg.Wait()
	if value, _, _ := c.Get(anyTime, "n"); len(value) != writers*each {
		t.Errorf("%d of %d changes are in the value", len(value), writers*each)
	}
}

func runBadNames(t *testing.T, c Coordinating, _ *headgatetest.Clock) {
	t.Helper()
	long := strings.Repeat("n", engine.MaxNameBytes+1)
	for what, err := range map[string]error{
		"no group":        errOfTwo(c.Beat(anyTime, "", "m", second)),
		"a long member":   errOfTwo(c.Beat(anyTime, "g", long, second)),
		"no life":         errOfTwo(c.Beat(anyTime, "g", "m", 0)),
		"a long life":     errOfTwo(c.Beat(anyTime, "g", "m", time.Hour+time.Microsecond)),
		"a part of a µs":  errOfTwo(c.Beat(anyTime, "g", "m", second+time.Nanosecond)),
		"leaving nothing": c.Leave(anyTime, "", "m"),
		"no name":         errOfThree(c.Get(anyTime, "")),
		"a long value":    errOfThree(c.CompareAndSet(anyTime, "n", 0, strings.Repeat("v", engine.MaxValueBytes+1))),
	} {
		if !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v, want an input error", what, err)
		}
	}
	if members, err := c.Beat(anyTime, "g", "m", second); err != nil || len(members) != 1 {
		t.Errorf("bad input changed something: %q, %v", members, err)
	}
}

func errOfTwo(_ []string, err error) error { return err }

func errOfThree[A, B any](_ A, _ B, err error) error { return err }

// runEnd checks that calls whose context has ended return the context's error, and that closing the store ends all
// calls.
func runEnd(t *testing.T, c Coordinating, _ *headgatetest.Clock) {
	t.Helper()
	over, cancel := context.WithCancel(anyTime)
	cancel()
	if _, err := c.Beat(over, "g", "m", second); !errors.Is(err, context.Canceled) {
		t.Errorf("a beat whose context had ended: %v", err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	for what, err := range map[string]error{
		"get": errOfThree(c.Get(anyTime, "n")), "leave": c.Leave(anyTime, "g", "m"),
	} {
		if !errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s of a closed store: %v", what, err)
		}
	}
}
