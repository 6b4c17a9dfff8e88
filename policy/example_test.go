package policy_test

import (
	"context"
	"fmt"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

// A minimal program reads its limits from a file and uses them by name.
func ExampleLoad() {
	config, err := policy.Load("testdata/limits.yaml")
	if err != nil {
		fmt.Println(err) // the errors in the file, with their lines
		return
	}
	limiter := filelimit.New(config, headgate.New())

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
