package suggest

import (
	"runtime"
	"sync"
)

// parallel divides n indices into one range per core, and calls the function do concurrently for all ranges. If the
// caller combines the results in the order of the ranges, sums, maxima and lists do not depend on the number of cores.
func parallel(n int, do func(part, from, to int)) {
	var running sync.WaitGroup
	workers := cores()
	for part := range workers {
		running.Go(func() { do(part, part*n/workers, (part+1)*n/workers) })
	}
	running.Wait()
}

// cores returns the number of ranges that parallel uses.
func cores() int { return runtime.GOMAXPROCS(0) }
