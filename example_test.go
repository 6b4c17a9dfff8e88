package headgate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headgate/headgate"
)

// This complete program allows each user five replies a minute.
func Example() {
	limiter := headgate.New()
	defer limiter.Close()
	replies := limiter.Policy("replies", headgate.SlidingLog{Rate: headgate.PerMinute(5)})
	for range 6 {
		d, err := replies.Allow(context.Background(), "laoqian")
		if err != nil {
			fmt.Println("not known:", err)
			return
		}
		fmt.Println(d.Allowed, d.Remaining, d.Promise.Mode)
	}
	// Output:
	// true 4 exact
	// true 3 exact
	// true 2 exact
	// true 1 exact
	// true 0 exact
	// false 0 exact
}

// A request counts against an address and a user: both are charged, or neither.
func ExampleLimiter_AllowAll() {
	limiter := headgate.New()
	defer limiter.Close()
	perIP := limiter.Policy("per-ip", headgate.TokenBucket{Rate: headgate.PerSecond(100)})
	perUser := limiter.Policy("per-user", headgate.FixedWindow{Rate: headgate.PerHour(2)})
	for range 3 {
		d, err := limiter.AllowAll(context.Background(), headgate.Charge{Policy: perIP, Key: "192.0.2.7", Units: 1}, headgate.Charge{Policy: perUser, Key: "laoqian", Units: 1})
		if err != nil {
			fmt.Println("not known:", err)
			return
		}
		fmt.Println(d.Allowed, d.Remaining, d.Binding.Rate)
	}
	// Output:
	// true 1 2/1h
	// true 0 2/1h
	// false 0 2/1h
}

func ExampleDecision_Err() {
	limiter := headgate.New()
	defer limiter.Close()
	hourly := limiter.Policy("hourly", headgate.FixedWindow{Rate: headgate.PerHour(1)})
	for range 2 {
		d, err := hourly.Allow(context.Background(), "laoqian")
		if err != nil {
			fmt.Println("not known:", err)
			return
		}
		if err := d.Err(); errors.Is(err, headgate.ErrDenied) {
			var denied *headgate.DeniedError
			errors.As(err, &denied)
			fmt.Println("denied by", denied.Decision.Binding.Policy)
		}
	}
	// Output:
	// denied by hourly
}

func ExampleSemaphore_TryAcquire() {
	limiter := headgate.New()
	defer limiter.Close()
	reports := limiter.Semaphore("reports", headgate.Concurrency{Units: 1, Lease: time.Minute})
	permit, _, err := reports.TryAcquire(context.Background(), "all", 1)
	if err != nil || permit == nil {
		fmt.Println("another caller holds it", err)
		return
	}
	work := permit.Hold(context.Background()) // renewed until released
	fmt.Println("working:", work.Err() == nil)
	if err := permit.Release(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println("working:", work.Err() == nil)
	// Output:
	// working: true
	// working: false
}

// If a limit is invalid, every method of its policy returns the error, and nothing is allowed.
func ExampleLimiter_Policy() {
	limiter := headgate.New()
	defer limiter.Close()
	api := limiter.Policy("api", headgate.TokenBucket{Rate: headgate.PerSecond(0)})
	d, err := api.Allow(context.Background(), "laoqian")
	fmt.Println(d.Allowed, err)
	// Output:
	// false headgate: policy "api": Rate is 0/s; accepted: a count of 1 to 281474976710655
}

func ExampleParseLimit() {
	limit, err := headgate.ParseLimit("30/60s burst 15")
	fmt.Println(limit, err)
	_, err = headgate.ParseLimit("0/s")
	fmt.Println(err)
	// Output:
	// 30/1m burst 15 <nil>
	// headgate: rate is 0/s; accepted: a count of 1 to 281474976710655
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
