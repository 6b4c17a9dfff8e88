package decide_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
)

// The routes of the file define the key, cost and policies of a request.
func ExampleLimiter_AllowRequest() {
	config, err := policy.Load("../testdata/limits.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter := decide.New(config, headgate.New())

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
