//go:build ignore

package main

import (
	"context"
	"fmt"

	"github.com/headgate/headgate"
)

func main() {
	limiter := headgate.New()
	defer limiter.Close()
	perUser := limiter.Policy("per-user", headgate.FixedWindow{Rate: headgate.PerHour(2)})
	for range 3 {
		d, err := perUser.Allow(context.Background(), "alice")
		fmt.Println(d.Limit, d.Remaining, d.Allowed, err)
	}
}
