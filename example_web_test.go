package headgate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
)

// An HTTP server limits each client address. If clients connect through a proxy, pass the proxy's address: ByIP(proxy).
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
	perIP := limiter.Policy("per-ip", headgate.FixedWindow{Rate: headgate.PerHour(3)})
	perUser := limiter.Policy("per-user", headgate.FixedWindow{Rate: headgate.PerHour(2)})
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })

	handler := httplimit.By(httplimit.AllOf(limiter,
		httplimit.Item{Policy: perIP, Key: httplimit.ByIP()},
		httplimit.Item{Policy: perUser, Key: httplimit.ByHeader("X-User")}, // Choose: the policy of the user's plan
	))(hello)
	for _, user := range []string{"alice", "alice", "alice", "bob", "carol"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("X-User", user)
		handler.ServeHTTP(w, r)
		limits, _, _ := strings.Cut(w.Header().Get("Ratelimit"), ",") // the binding limit comes first
		fmt.Println(user, w.Code, limits)
	}
	// Output:
	// alice 200 "per-user";r=1;t=3600
	// alice 200 "per-user";r=0;t=3600
	// alice 429 "per-user";r=0;t=3600
	// bob 200 "per-ip";r=0;t=3600
	// carol 429 "per-ip";r=0;t=3600
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

// Each API key has its own limit. The key function returns the customer's name, not the API key, so that no secret is
// written to the store. A request with an unknown API key gets a 401.
func Example_perAPIKey() {
	limiter := headgate.New()
	defer limiter.Close()
	perCustomer := limiter.Policy("per-customer", headgate.FixedWindow{Rate: headgate.PerHour(2)})
	customers := map[string]string{"7f3a9c": "acme"} // by API key
	byCustomer := func(r *http.Request) (string, bool) {
		customer, ok := customers[r.Header.Get("X-Api-Key")]
		return customer, ok
	}
	failed := func(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
		if errors.Is(err, httplimit.ErrNoKey) {
			http.Error(w, "unknown API key", http.StatusUnauthorized)
			return
		}
		httplimit.FailOpen(w, r, next, err) // or answer 503
	}

	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	handler := httplimit.New(perCustomer, byCustomer, httplimit.WithError(failed))(hello)
	for _, apiKey := range []string{"7f3a9c", "7f3a9c", "7f3a9c", "guess"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("X-Api-Key", apiKey)
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 200
	// 429
	// 401
}

type signIn struct{ Account, Password string }

// byAccount returns the account in the JSON body of a sign-in as the key. The handler can read the body again.
func byAccount(r *http.Request) (string, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 4<<10))
	r.Body = io.NopCloser(bytes.NewReader(body))
	var s signIn
	if err != nil || json.Unmarshal(body, &s) != nil || s.Account == "" {
		return "account in the body", false // the 400 names it
	}
	return strings.ToLower(s.Account), true
}

// Wrong passwords count against the account and the address, and right passwords against neither. The rule must be
// OnlyStatus(401): OnlyFailures would also charge the address for the account's 429.
func Example_wrongPasswords() {
	limiter := headgate.New()
	defer limiter.Close()
	perAddress := limiter.Policy("sign-ins-address", headgate.SlidingLog{Rate: headgate.PerHour(20)})
	perAccount := limiter.Policy("sign-ins-account", headgate.SlidingLog{Rate: headgate.PerHour(2)})

	check := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var s signIn
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil || s.Password != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	handler := httplimit.By(httplimit.AllOf(limiter,
		httplimit.Item{Policy: perAddress, Key: httplimit.ByIP()},
		httplimit.Item{Policy: perAccount, Key: byAccount},
	), httplimit.WithFinalCost(httplimit.OnlyStatus(http.StatusUnauthorized)))(check)
	for _, password := range []string{"right", "right", "1", "right", "2", "right"} {
		w := httptest.NewRecorder()
		body := strings.NewReader(`{"account":"Ann","password":"` + password + `"}`)
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/sign-in", body))
		fmt.Println(password, w.Code)
	}
	// Output:
	// right 200
	// right 200
	// 1 401
	// right 200
	// 2 401
	// right 429
}

// Each customer can run at most three exports at a time. A permit is renewed while its export runs. If the process dies,
// the permit expires after the lease time, by default a minute.
func Example_exportsPerCustomer() {
	limiter := headgate.New()
	defer limiter.Close()
	exports := limiter.Semaphore("exports", headgate.Concurrency{Units: 3})
	started, finish := make(chan bool, 3), make(chan bool)
	export := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { started <- true; <-finish })

	handler := httplimit.By(httplimit.InFlight(exports, httplimit.ByHeader("X-Customer")))(export)
	get := func() int {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/export", http.NoBody)
		r.Header.Set("X-Customer", "acme")
		handler.ServeHTTP(w, r)
		return w.Code
	}
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() { get() })
		<-started
	}
	fmt.Println(get())
	close(finish)
	running.Wait()
	fmt.Println(get())
	// Output:
	// 429
	// 200
}
