package prefetch

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// A table never has more records than its bound, and cold ones make room for others.
func TestTableIsBounded(t *testing.T) {
	const most, life = 10 * shards, time.Second
	limit := rule.FixedWindow(rule.PerSecond(1))
	limits := newLeased([]engine.Limit{limit}, nil)
	table, began := newTable(most), time.Now()
	add := func(from, to int, now time.Time) (added int) {
		for i := from; i < to; i++ {
			key := strconv.Itoa(i)
			h := table.of(key)
			h.Lock()
			if table.find(h, &limits, "", key, limit, now, life) != nil {
				added++
			}
			h.Unlock()
		}
		return added
	}
	known := func() (n int) {
		for i := range table.shards {
			n += len(table.shards[i].known)
		}
		return n
	}
	if n := add(0, 100*most, began); n != most || known() != most {
		t.Fatalf("%d were added and %d are there, want %d", n, known(), most)
	}
	if n := add(100*most, 101*most, began.Add(life-1)); n != 0 {
		t.Errorf("%d were added while no record is cold", n)
	}
	if n := add(100*most, 101*most, began.Add(life)); n < most/2 || known() > most {
		t.Errorf("%d were added while all are cold, %d are there", n, known())
	}
}

// Units that are taken away to be returned are not spent as well, and each is spent once.
func TestUnitsAreSpentOrReturned(t *testing.T) {
	for range 200 {
		now := time.Now()
		h := &hold{took: 1000, dies: now.Add(time.Hour)}
		h.units.Store(h.took)
		var callers sync.WaitGroup
		spent := make([]int64, 3)
		for i := range spent {
			callers.Go(func() {
				for ok := true; ok; _, ok = h.spend(2, now) {
					spent[i] += 2
				}
				spent[i] -= 2
			})
		}
		returned := h.end()
		callers.Wait()
		if sum := spent[0] + spent[1] + spent[2]; sum+returned != h.took || h.spent() != sum || h.left() != 0 {
			t.Fatalf("%d spent and %d returned of %d; it counts %d spent and %d left", sum, returned, h.took, h.spent(), h.left())
		}
	}
}
