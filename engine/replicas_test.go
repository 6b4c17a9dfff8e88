package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

func TestReplicasAreInRange(t *testing.T) {
	for _, c := range []struct {
		count  int
		within time.Duration
		field  string // in the error; "" means no error
	}{
		{1, time.Millisecond, ""},
		{16, 10 * time.Second, ""},
		{0, time.Second, "replicas"},
		{17, time.Second, "replicas"},
		{257, time.Second, "replicas"}, // exceeds one byte
		{1, 0, "replica_timeout"},
		{1, 1500 * time.Microsecond, "replica_timeout"},
		{1, 10*time.Second + time.Millisecond, "replica_timeout"},
		{1, 65537 * time.Millisecond, "replica_timeout"},
	} {
		r, err := engine.NewReplicas(c.count, c.within)
		input, _ := errors.AsType[*engine.InputError](err)
		switch {
		case c.field == "" && (err != nil || int(r.Count) != c.count || r.Within() != c.within):
			t.Errorf("%d within %s: %s, %v", c.count, c.within, r, err)
		case c.field != "" && (input == nil || input.Field != c.field):
			t.Errorf("%d within %s: %v, want an error of %s", c.count, c.within, err, c.field)
		}
	}
	op := engine.Single(engine.OpAllow, "k", rule.FixedWindow(rule.PerMinute(5)), 1)
	if op.Replicas.Count = 200; op.Check() == nil {
		t.Error("an operation may wait for 200 replicas")
	}
}

// An operation waits for replicas only if it can charge something.
func TestWaits(t *testing.T) {
	minute, permits := rule.FixedWindow(rule.PerMinute(5)), rule.Concurrency(3)
	two := engine.Replicas{Count: 2, WithinMillis: 30}
	for _, c := range []struct {
		kind     engine.Kind
		limit    engine.Limit
		cost     int64
		replicas engine.Replicas
		want     bool
	}{
		{engine.OpAllow, minute, 1, two, true},
		{engine.OpAtMost, minute, 3, two, true},
		{engine.OpCount, minute, 1, two, true},
		{engine.OpReserve, minute, 1, two, true},
		{engine.OpAcquire, permits, 1, two, true},
		{engine.OpRenew, permits, 0, two, true},
		{engine.OpAllow, minute, 1, engine.Replicas{}, false},
		{engine.OpAllow, minute, 0, two, false},
		{engine.OpAllow, rule.NoLimit(), 1, two, false},
		{engine.OpAllow, rule.DenyAll(), 1, two, false},
		{engine.OpPeek, minute, 1, two, false},
		{engine.OpGive, minute, 1, two, false},
		{engine.OpReset, minute, 0, two, false},
		{engine.OpRelease, permits, 1, two, false},
	} {
		op := engine.Single(c.kind, "k", c.limit, c.cost)
		if op.Replicas = c.replicas; op.Waits() != c.want {
			t.Errorf("%s of %d units of %s, replicas %s: waits %t", c.kind, c.cost, c.limit, c.replicas, !c.want)
		}
	}
	one := engine.Replicas{Count: 1, WithinMillis: 500}
	if got := two.Both(one).String(); got != "2 within 500ms" || two.Both(engine.Replicas{}) != two || (engine.Replicas{}).Both(one) != one {
		t.Errorf("what is enough for both: %s", got)
	}
}
