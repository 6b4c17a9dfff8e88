package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// Limits that count denials count them regardless of which slot denies the request: a Cluster answers as one process
// does (regression: bug 76).
func TestSplitCountsDenials(t *testing.T) {
	t.Parallel()
	clock, _, store, _ := interrupted(t)
	single, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = single.Close() })
	bucket := rule.TokenBucket(rule.PerSecond(1), rule.Burst(2))
	blocks := rule.Penalty(rule.PerMinute(3), rule.Block(8*time.Second))
	slow := rule.TokenBucket(rule.PerSecond(1), rule.Named("slow"))
	counting := rule.FixedWindow(rule.PerMinute(20), rule.CountDenied())
	for name, charges := range map[string][]engine.Charge{
		"penalty first":  {charge(blocks, splitUser, 1), charge(bucket, splitAll, 1)},
		"penalty last":   {charge(bucket, splitAll, 1), charge(blocks, splitUser, 1)},
		"counting first": {charge(counting, splitUser, 1), charge(bucket, splitAll, 1)},
		"a slot counts":  {charge(counting, splitUser, 1), charge(slow, splitUser, 1), charge(bucket, splitAll, 1)},
		"counting last":  {charge(bucket, splitAll, 1), charge(counting, splitUser, 1)},
	} {
		for kind, op := range map[string]engine.Op{"allow": {Kind: engine.OpAllow}, "at most": {Kind: engine.OpAtMost}, "reserve": {Kind: engine.OpReserve, ID: "r"}} {
			split := 0
			for n := range 60 {
				op := op
				op.Space, op.Key = name+kind, splitUser
				op.Charges = append([]engine.Charge(nil), charges...)
				switch op.Kind {
				case engine.OpAtMost:
					for i := range op.Charges {
						op.Charges[i].Cost = 4
					}
				case engine.OpReserve:
					op.ID = fmt.Sprint(name, n)
				}
				var got, want [1]engine.Answer
				store.Do(context.Background(), []engine.Op{op}, got[:])
				single.Do(context.Background(), []engine.Op{op}, want[:])
				if got[0].Err != nil || want[0].Err != nil {
					t.Fatal(got[0].Err, want[0].Err)
				}
				if got[0].Promise.Mode == engine.Split {
					split++
				}
				said, right := brief(&got[0]), brief(&want[0])
				if said != right {
					t.Fatalf("%s, %s %d: %s, want %s", name, kind, n, said, right)
				}
				clock.Advance(time.Duration(n%7) * 50 * time.Millisecond)
			}
			if split < 60 {
				t.Errorf("%s, %s: %d of 60 requests were split", name, kind, split)
			}
		}
	}
}

// brief returns the answer, and each limit's wait and strikes.
func brief(o *engine.Answer) string {
	text := fmt.Sprintf("%-5t", o.Allowed)
	for i := range o.Len() {
		text += fmt.Sprint(" ", o.Of(i).RetryAfter, " ", o.Of(i).Strikes)
	}
	return text
}
