package envoy

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// TestRedisAway checks that if Redis hangs, each request gets an answer at the deadline: the gRPC code Unknown, as
// envoyproxy/ratelimit returns, or the failure mode's answer. When Redis is back, requests are decided again.
func TestRedisAway(t *testing.T) {
	directory := t.TempDir()
	deny, allow := policy.Deny, policy.Allow
	for failure, want := range map[*policy.Failure]codes.Code{nil: codes.Unknown, &deny: codes.Unavailable, &allow: codes.OK} {
		install(t, directory+"/"+want.String(), false)
		redis := redistest.Standalone(t, redistest.Redis)
		p := startOursOn(t, directory+"/"+want.String(), redis, func(c *daemon.Config) { c.GRPC.Options.Failure = failure }, 15*time.Millisecond)
		q := request("rl", descriptor("foo", "x"))
		decided := func() bool {
			r, err := p.client.ShouldRateLimit(context.Background(), q)
			return err == nil && r.Statuses[0].CurrentLimit != nil
		}
		until := func(when string) {
			for start := time.Now(); !decided(); time.Sleep(20 * time.Millisecond) {
				if time.Since(start) > patience {
					t.Fatal("not decided " + when)
				}
			}
		}
		until("at the start")
		redis.Pause()
		start := time.Now()
		for range 20 {
			r, err := p.client.ShouldRateLimit(context.Background(), q)
			if status.Code(err) != want || err == nil && r.Statuses[0].CurrentLimit != nil {
				t.Errorf("failure %v: %v, %v, want %v", failure, r, err, want)
			}
		}
		if took := time.Since(start); took > patience {
			t.Errorf("failure %v: 20 answers took %v", failure, took)
		}
		redis.Resume()
		until("after Redis is back")
	}
}
