package headgate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate"
)

// A worker sends 50 mails a second at most.
func Example_waitingWorker() {
	limiter := headgate.New()
	defer limiter.Close()
	pace := limiter.Policy("mail", headgate.Pacer(headgate.PerSecond(50), headgate.MaxWait(5*time.Second)))
	start := time.Now()
	for i := range 4 {
		if _, err := pace.Wait(context.Background(), "smtp"); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("mail", i)
	}
	fmt.Println("at least 3 intervals of 20 ms:", time.Since(start) >= 60*time.Millisecond)
	// Output:
	// mail 0
	// mail 1
	// mail 2
	// mail 3
	// at least 3 intervals of 20 ms: true
}

// At most two callers work at the same time.
func Example_semaphore() {
	limiter := headgate.New()
	defer limiter.Close()
	workers := limiter.Policy("workers", headgate.Concurrency(2, headgate.LeaseTime(time.Minute)))
	ctx := context.Background()
	acquire := func() *headgate.Permit {
		permit, _, err := workers.Acquire(ctx, "render", 1)
		fmt.Println("acquired:", permit != nil, err) // a denial returns no permit
		return permit
	}
	first := acquire()
	acquire()
	acquire()
	if err := first.Release(ctx); err != nil {
		fmt.Println(err)
		return
	}
	acquire()
	// Output:
	// acquired: true <nil>
	// acquired: true <nil>
	// acquired: false <nil>
	// acquired: true <nil>
}
