package pressure

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	schedLatencies = "/sched/latencies:seconds"
	heapTotal      = "/memory/classes/total:bytes"
	heapReleased   = "/memory/classes/heap/released:bytes"
)

// process adds the process's own numbers to a reading.
func process(r *reading, quota float64) {
	r.cpu = ownCPU()
	r.processors = float64(runtime.GOMAXPROCS(0))
	if quota > 0 {
		r.processors = math.Min(r.processors, quota)
	}
	samples := []metrics.Sample{{Name: schedLatencies}, {Name: heapTotal}, {Name: heapReleased}}
	metrics.Read(samples)
	if samples[0].Value.Kind() == metrics.KindFloat64Histogram {
		h := samples[0].Value.Float64Histogram()
		r.waits, r.bounds = h.Counts, h.Buckets[1:]
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 { // -1 reads the limit without changing it
		r.nearer(int64(samples[1].Value.Uint64()-samples[2].Value.Uint64()), limit) //nolint:gosec // bytes of memory
	}
}
