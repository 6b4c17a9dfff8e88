package llm

import (
	"fmt"
	"runtime"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// calls is the number of reservations that are open at the same time.
const calls = 10_000

// These constants are the maximum sizes of a call in the store, in bytes. A call needs its user's bucket and, while it
// is open, its permit. Afterwards it needs marks that show that it was settled, on a Cluster one for each slot.
const (
	mostOpen    = 500
	mostSettled = 600
)

var (
	budget  = named{"budget", rule.FixedWindow(engine.Rate{Count: 4_000_000_000, Months: 1}, rule.Align("UTC"))} // micro-dollars
	streams = named{"streams", rule.Concurrency(calls, rule.LeaseTime(10*time.Minute))}
	minute  = named{"minute", rule.TokenBucket(rule.PerMinute(10_000))}
)

// Ten thousand calls are open at the same time. All of them charge one shared key, and each also charges its own key.
// Every sum must be exact to the unit.
func tenThousandOpen(w *world) {
	held := make([][512]byte, calls) // the reservations as text; strings would count as memory used by the store
	length := make([]int, calls)
	user := func(i int) string { return fmt.Sprint("user ", i) }
	before := w.bytes()
	w.callers(func(i int, p process) {
		length[i] = copy(held[i][:], p.must(minute.of(user(i), 4000), budget.of("acme", 100_000), streams.of("acme", 1)))
	})
	open := w.bytes() - before
	w.a.left(budget, "acme", 3_000_000_000)
	w.b.left(streams, "acme", 0)
	if r, d := w.a.call(minute.of("late", 1), budget.of("acme", 1), streams.of("acme", 1)); r != nil || d.Binding.Policy != "streams" {
		w.Errorf("%d streams are open: %+v", calls+1, d)
	}
	w.callers(func(i int, p process) { p.commit(string(held[i][:length[i]]), int64(i), int64(i), 0) })
	settled := w.bytes() - before
	const sum = calls * (calls - 1) / 2
	w.a.left(budget, "acme", 4_000_000_000-sum)
	w.b.left(streams, "acme", calls)
	for i := 0; i < calls; i += 1111 {
		w.a.left(minute, user(i), 10_000-int64(i))
	}
	w.Logf("an open reservation takes %d bytes, a settled one %d", open/calls, settled/calls)
	if open > mostOpen*calls || settled > mostSettled*calls {
		w.Errorf("%d reservations take %d bytes while they are open, and %d when they are settled", calls, open, settled)
	}
	runtime.KeepAlive(held)
}

// callers runs all calls, 64 at a time, alternating between the two processes.
func (w *world) callers(call func(i int, p process)) {
	const callers = 64
	w.atOnce(callers, func(from int, p process) {
		for i := from; i < calls; i += callers {
			call(i, p)
		}
	})
}

// bytes returns the memory used by the store's keys: according to MEMORY USAGE on Redis, or the heap's size for a
// memory store.
func (w *world) bytes() (sum int64) {
	w.Helper()
	if w.holders == nil {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, s := range w.holders {
		const used = `local n = 0
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do n = n + redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) end
return n`
		n, _ := s.MustDo("eval", used, 0, w.prefix+"*").(int64)
		sum += n
	}
	return sum
}
