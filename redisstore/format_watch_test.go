package redisstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// slowMarker is a server that answers the read of the marker after a delay, and no other command.
type slowMarker struct {
	Conn

	after  time.Duration
	marker string
}

var errOther = errors.New("another command")

func (c *slowMarker) Do(ctx context.Context, commands []Command, replies []Reply) {
	for i := range commands {
		if commands[i].Args[0] != "GET" {
			replies[i].Err = errOther
			continue
		}
		select {
		case <-time.After(c.after):
			replies[i].Text = c.marker
		case <-ctx.Done():
			replies[i].Err = ctx.Err()
		}
	}
}

func (*slowMarker) Cluster() bool { return false }
func (*slowMarker) Close() error  { return nil }

// If states are in hashes, the first decision waits for the marker until its deadline. If there is no marker, nothing
// is decided, because the states may be in another layout. If states have separate keys, the decision does not need the
// marker.
func TestFirstDecisionWaitsForTheLayout(t *testing.T) {
	for _, c := range []struct {
		hashes   int
		deadline time.Duration
		waits    time.Duration
		class    Class // OutcomeUnknown if a decision was sent to the server
	}{
		{hashes: 1, waits: 500 * time.Millisecond, class: OutcomeUnknown},
		{hashes: 1, deadline: 300 * time.Millisecond, waits: 100 * time.Millisecond, class: Unsent},
		{hashes: 1, deadline: 3 * time.Second, waits: 500 * time.Millisecond, class: OutcomeUnknown},
		{waits: markerWait, class: OutcomeUnknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := New(&slowMarker{after: 500 * time.Millisecond, marker: "format=2 shards=0" + map[int]string{1: " layout=hash:1"}[c.hashes]}, Config{Hashes: c.hashes})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ctx := t.Context()
			if c.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.deadline)
				defer cancel()
			}
			begin, results := time.Now(), make([]engine.Result, 1)
			s.Do(ctx, []engine.Op{engine.Single(engine.OpAllow, "k", rule.TokenBucket(rule.PerSecond(1)), 1)}, results)
			e, ok := errors.AsType[*Error](results[0].Err)
			if took := time.Since(begin); took != c.waits || !ok || e.Class != c.class {
				t.Errorf("%+v: %s, %v", c, took, results[0].Err)
			}
		})
	}
}
