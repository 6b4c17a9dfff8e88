package suggest

import (
	"runtime"
	"sync"
)

// parallel calls do for parts of n places, one for each core at the same time. Parts are in
// order of their number: what they find, put together in that order, is the same for any
// number of cores, as long as it is a sum, a maximum or a list.
func parallel(n int, do func(part, from, to int)) {
	var running sync.WaitGroup
	workers := cores()
	for part := range workers {
		running.Go(func() { do(part, part*n/workers, (part+1)*n/workers) })
	}
	running.Wait()
}

// cores returns how many parts parallel makes.
func cores() int { return runtime.GOMAXPROCS(0) }
