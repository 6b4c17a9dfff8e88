package adaptive_test

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/adaptive"
)

// At most two calls may be in flight, whatever limit the limiter learns.
func Example() {
	limiter, err := adaptive.New(adaptive.Config{Min: 1, Max: 2, Latency: 400 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := func() *adaptive.Permit {
		permit, ok := limiter.TryAcquire()
		fmt.Println("allowed:", ok)
		return permit
	}
	first, second := call(), call()
	call()
	first.Release(adaptive.Done)
	third := call()
	second.Release(adaptive.Failed)
	third.Release(adaptive.Ignored)
	fmt.Println("in flight:", limiter.Status().InFlight)
	// Output:
	// allowed: true
	// allowed: true
	// allowed: false
	// allowed: true
	// in flight: 0
}
