package headgate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate"
)

// A worker sends at most 50 mails a second.
func Example_waitingWorker() {
	limiter := headgate.New()
	defer limiter.Close()
	pace := limiter.Policy("mail", headgate.Pacer{Rate: headgate.PerSecond(50), MaxWait: 5 * time.Second})
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

// At most two callers run at the same time.
func Example_semaphore() {
	limiter := headgate.New()
	defer limiter.Close()
	workers := limiter.Semaphore("workers", headgate.Concurrency{Units: 2, Lease: time.Minute})
	ctx := context.Background()
	acquire := func() *headgate.Permit {
		permit, _, err := workers.TryAcquire(ctx, "render", 1)
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

// A language model's tokens are reserved before a call and committed after it.
func Example_reserveThenCommit() {
	limiter := headgate.New()
	defer limiter.Close()
	tokens := limiter.Policy("llm", headgate.TokenBucket{Rate: headgate.PerHour(10_000)})
	ctx := context.Background()
	left := func() {
		d, err := tokens.Peek(ctx, "alice", 1)
		fmt.Println("left:", d.Remaining, err)
	}
	for _, call := range []struct{ estimate, used int64 }{{4000, 2500}, {1000, 1500}} {
		reserved, d, err := tokens.Reserve(ctx, "alice", call.estimate)
		if err != nil || reserved == nil {
			fmt.Println(d.RetryAfter, err)
			return
		}
		time.Sleep(reserved.Delay()) // zero while the bucket has enough tokens
		left()
		if _, err := reserved.Commit(ctx, call.used); err != nil {
			fmt.Println(err)
		}
		left()
	}
	// Output:
	// left: 6000 <nil>
	// left: 7500 <nil>
	// left: 6500 <nil>
	// left: 6000 <nil>
}

// A worker needs a slot in time and one of two connections, or neither. It waits for the slot, and gives both back if it
// does not send.
func Example_slotAndPermit() {
	limiter := headgate.New()
	defer limiter.Close()
	pace := limiter.Policy("mail", headgate.Pacer{Rate: headgate.PerSecond(4), MaxWait: 5 * time.Second})
	connections := limiter.Semaphore("connections", headgate.Concurrency{Units: 2, Lease: time.Minute})
	ctx := context.Background()
	begin := func() *headgate.Reservation {
		reserved, d, err := limiter.ReserveAll(ctx,
			headgate.Charge{Policy: pace, Key: "smtp"},
			headgate.Charge{Semaphore: connections, Key: "smtp"})
		if err != nil || reserved == nil {
			fmt.Println(d.Binding.Policy, "is in use:", err)
			return nil
		}
		fmt.Println("slot in", reserved.Delay().Round(250*time.Millisecond))
		time.Sleep(reserved.Delay()) // work of more than 20 s renews the permit: reserved.Renew
		return reserved
	}
	first, second := begin(), begin()
	begin()
	_, err := first.Commit(ctx, 1, 1) // sent: the permit is free, and the slot is used
	fmt.Println(err, second.Cancel(ctx))
	// Output:
	// slot in 0s
	// slot in 250ms
	// connections is in use: <nil>
	// <nil> <nil>
}
