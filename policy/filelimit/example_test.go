package filelimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

// The file's routes define a request's key, cost and policies.
func ExampleLimiter_AllowRequest() {
	config, err := policy.Load("../testdata/limits.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter := filelimit.New(config, headgate.New())

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
	// user "": false, 0 left, error httplimit: the request lacks a part of its key: header X-User
}

// A running program can reread its policies file. The units that keys have spent stay spent.
func ExampleLimiter_Replace() {
	folder, err := os.MkdirTemp("", "policies")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "policies.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	write("policies: {free: {rate: 3/1m, algorithm: token-bucket}}")
	config, err := policy.Load(path)
	if err != nil {
		panic(err)
	}
	limiter := headgate.New()
	defer limiter.Close()
	policies := filelimit.New(config, limiter)
	show := func() {
		d, err := policies.Allow(context.Background(), "free", "ann")
		fmt.Println(d.Allowed, d.Remaining, err)
	}
	show()

	reload := func() { // call it from a ticker, or on a signal
		next, err := policy.Reader{}.Reload(path, config)
		if err != nil {
			fmt.Println("the last valid file stays active") // err contains the errors in the new file
			return
		}
		config = next
		policies.Replace(config)
	}
	write("policies: {free: {rate: 10/1m, algorithm: token-bucket}}")
	reload()
	show()
	write("policies: {free: {rate: much}}")
	reload()
	show()
	// Output:
	// true 2 <nil>
	// true 8 <nil>
	// the last valid file stays active
	// true 7 <nil>
}
