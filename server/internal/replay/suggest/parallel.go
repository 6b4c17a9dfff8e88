package suggest

import (
	"runtime"
	"sync"
)

// parallel calls a function for each index below n, on all cores.
func parallel(n int, do func(i int)) {
	var running sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		running.Go(func() {
			for i := worker * n / workers; i < (worker+1)*n/workers; i++ {
				do(i)
			}
		})
	}
	running.Wait()
}
