//go:build !race

package service_test

import (
	"context"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

// TestNoAllocation checks that hashed keys cause no more allocations than plain keys. It does not run with the race
// detector, which makes pools drop their memory.
func TestNoAllocation(t *testing.T) {
	allocations := map[bool]float64{}
	for _, hashed := range []bool{false, true} {
		c := service.Config{Limiter: core.New(core.Config{})}
		if hashed {
			c.HashKeys = secrets(t, strings.Repeat("s", 32))
		}
		s := service.New(c)
		requests, responses := []decide.Request{take("ann@example.com", one), take("bob@example.com", one)}, make([]decide.Response, 2)
		allocations[hashed] = testing.AllocsPerRun(1000, func() { s.Do(context.Background(), service.RESP, requests, responses) })
		_ = c.Limiter.Close()
	}
	if allocations[true] > allocations[false] {
		t.Errorf("%v allocations, want %v", allocations[true], allocations[false])
	}
}
