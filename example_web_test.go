package headgate_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// An HTTP server with a limit for each client address. If the server is behind a proxy, pass the proxy's address:
// ByIP(proxy).
func Example_perIP() {
	limiter := headgate.New()
	defer limiter.Close()
	perIP := limiter.Policy("per-ip", headgate.TokenBucket{Rate: headgate.PerHour(60), Burst: 2})

	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	handler := httplimit.New(perIP, httplimit.ByIP())(hello)
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		fmt.Println(w.Code, w.Header().Get("Retry-After") != "")
	}
	// Output:
	// 200 false
	// 200 false
	// 429 true
}

// Each user has a separate counter.
func Example_perUser() {
	limiter := headgate.New()
	defer limiter.Close()
	perUser := limiter.Policy("per-user", headgate.SlidingLog{Rate: headgate.PerHour(2)})
	for _, user := range []string{"alice", "alice", "alice", "bob"} {
		d, err := perUser.Allow(context.Background(), user)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(user, d.Allowed, d.Remaining)
	}
	// Output:
	// alice true 1
	// alice true 0
	// alice false 0
	// bob true 1
}

// A request counts against its address and its user: both are charged, or neither.
func Example_perIPAndUser() {
	limiter := headgate.New()
	defer limiter.Close()
	perIP := limiter.Policy("per-ip", headgate.FixedWindow{Rate: headgate.PerHour(3), Name: "ip"})
	perUser := limiter.Policy("per-user", headgate.FixedWindow{Rate: headgate.PerHour(2), Name: "user"})
	for _, user := range []string{"alice", "alice", "alice", "bob", "carol"} {
		d, err := limiter.AllowAll(context.Background(), headgate.Charge{Policy: perIP, Key: "192.0.2.7", Units: 1}, headgate.Charge{Policy: perUser, Key: user, Units: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(user, d.Allowed, d.Binding.Name)
	}
	// Output:
	// alice true user
	// alice true user
	// alice false user
	// bob true ip
	// carol false ip
}

// Each plan is a policy. A request uses the policy named after the customer's plan.
func Example_planPerCustomer() {
	limiter := headgate.New()
	defer limiter.Close()
	plans := map[string]*headgate.Policy{
		"free": limiter.Policy("free", headgate.FixedWindow{Rate: headgate.PerDay(1)}),
		"paid": limiter.Policy("paid", headgate.TokenBucket{Rate: headgate.PerHour(10)}, headgate.FixedWindow{Rate: headgate.PerDay(1000)}),
	}
	for _, customer := range []struct{ id, plan string }{
		{"tea-shop", "free"}, {"tea-shop", "free"}, {"bank", "paid"}, {"bank", "paid"},
	} {
		d, err := plans[customer.plan].Allow(context.Background(), customer.id)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(customer.id, d.Allowed, d.Remaining)
	}
	// Output:
	// tea-shop true 0
	// tea-shop false 0
	// bank true 9
	// bank true 8
}
