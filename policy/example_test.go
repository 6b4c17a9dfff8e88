package policy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
)

// The shortest program: limits by name from a file.
func ExampleLoad() {
	config, err := policy.Load("testdata/limits.yaml")
	if err != nil {
		fmt.Println(err) // every error in the file, with its line
		return
	}
	limiter := config.Bind(headgate.New())

	for range 4 {
		d, err := limiter.Allow(context.Background(), "reply", "laoqian")
		fmt.Println(d.Allowed, d.Remaining, err)
	}
	// Output:
	// true 2 <nil>
	// true 1 <nil>
	// true 0 <nil>
	// false 0 <nil>
}

// The routes of the file say which key, cost and policies a request has.
func ExampleLimiter_AllowRequest() {
	config, err := policy.Load("testdata/limits.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter := config.Bind(headgate.New())

	for _, user := range []string{"7", "7", "8", ""} {
		r := httptest.NewRequest(http.MethodPost, "/v1/users/42/replies", nil)
		if user != "" {
			r.Header.Set("X-User", user)
		}
		d, err := limiter.AllowRequest(r)
		fmt.Printf("user %q: %t, %d left, error %v\n", user, d.Allowed, d.Remaining, err)
	}
	// Output:
	// user "7": true, 2 left, error <nil>
	// user "7": true, 1 left, error <nil>
	// user "8": true, 2 left, error <nil>
	// user "": false, 0 left, error httplimit: the request lacks what it is counted under: header X-User
}
