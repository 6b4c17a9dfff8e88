package headgate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
)

// A whole program: five replies a minute for each user.
func Example() {
	clock := headgatetest.NewClock() // leave Clock out to use the system's
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter := headgate.New(store)
	defer limiter.Close()
	limit, err := headgate.SlidingLog(headgate.PerMinute(5))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 6 {
		d, err := limiter.Allow(context.Background(), headgate.Key("laoqian", "reply"), limit)
		if err != nil {
			fmt.Println("not known:", err)
			return
		}
		fmt.Println(d.Allowed, d.Remaining, d.RetryAfter, d.Promise.Mode)
	}
	// Output:
	// true 4 0s exact
	// true 3 0s exact
	// true 2 0s exact
	// true 1 0s exact
	// true 0 0s exact
	// false 0 1m0s exact
}

func ExampleDecision_Err() {
	store, _ := memstore.New(memstore.Config{})
	limiter := headgate.New(store)
	defer limiter.Close()
	limit := headgate.Must(headgate.FixedWindow(headgate.PerHour(1), headgate.Named("hourly")))
	for range 2 {
		d, err := limiter.Allow(context.Background(), "laoqian", limit)
		if err != nil {
			fmt.Println("not known:", err)
			return
		}
		if err := d.Err(); errors.Is(err, headgate.ErrDenied) {
			var denied *headgate.DeniedError
			errors.As(err, &denied)
			fmt.Println("denied by", denied.Decision.Binding.Name)
		}
	}
	// Output:
	// denied by hourly
}

func ExampleLimiter_Acquire() {
	store, _ := memstore.New(memstore.Config{})
	limiter := headgate.New(store)
	defer limiter.Close()
	limit := headgate.Must(headgate.Concurrency(1, headgate.LeaseTime(time.Minute)))
	lease, _, err := limiter.Acquire(context.Background(), "report", limit, 1)
	if err != nil || lease == nil {
		fmt.Println("somebody else holds it", err)
		return
	}
	work := lease.Hold(context.Background()) // renewed until released
	fmt.Println("working:", work.Err() == nil)
	if err := lease.Release(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println("working:", work.Err() == nil)
	// Output:
	// working: true
	// working: false
}

func ExampleParseLimit() {
	limit, err := headgate.ParseLimit("30/60s burst 15")
	fmt.Println(limit, err)
	_, err = headgate.ParseLimit("0/s")
	fmt.Println(err)
	// Output:
	// 30/1m burst 15 <nil>
	// headgate: rate is 0; accepted: 1 to 4294967295
}

func ExampleKey() {
	fmt.Println(headgate.Key("laoqian", "reply"))
	fmt.Println(headgate.Key("a:b", "c"))
	fmt.Println(headgate.Key("a", "b:c"))
	// Output:
	// laoqian:reply
	// a\:b:c
	// a:b\:c
}
