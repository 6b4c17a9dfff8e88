package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// TestMissingRights checks a user without the rights that were added last. Commands for operators, which pages and
// scrapes send again and again, are refused once, so that they do not fill the ACL LOG. A reservation with a term needs
// PTTL only to save a command, and is kept without it. Regression: it was charged, and the answer was an error.
// Regression: bug 169.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	s.MustDo("acl", "setuser", "app", "on", ">pw", "~*", "&*", "+@all", "-hscan", "-pttl")
	store := testbed.OpenRueidis(t, testbed.Deployment{URL: "redis://app:pw@" + s.Addr()}, redisstore.Config{})
	ctx := context.Background()
	op, results := engine.Single(engine.OpReserve, "k", rule.FixedWindow(rule.PerHour(10)), 4), make([]engine.Answer, 1)
	op.ID, op.Term = "id", &engine.Term{Within: time.Minute, Then: engine.ReleaseCharge}
	if store.Do(ctx, []engine.Op{op}, results); results[0].Err != nil || !results[0].Allowed {
		t.Errorf("a reservation without the right to PTTL: %+v", results[0])
	}
	if open, err := store.OpenCount(ctx); err != nil || open != 1 {
		t.Errorf("%d open reservations, %v", open, err)
	}
	if ttl, _ := s.MustDo("pttl", "hg/coordinator/open/{0}").(int64); ttl < 60_000 {
		t.Errorf("the reservations expire in %d ms", ttl)
	}
	s.MustDo("acl", "setuser", "app", "-info")
	s.MustDo("acl", "log", "reset")
	for range 5 {
		_, err := store.OpenOf(ctx, "k", 10)
		_, failed := store.MemoryUsed(ctx)
		for _, err := range []error{err, failed} {
			var refused *redisstore.Error
			if !errors.As(err, &refused) || refused.Class != redisstore.NoPermission || !strings.Contains(err.Error(), "ACL SETUSER") {
				t.Errorf("without the right: %v", err)
			}
		}
	}
	if log := fmt.Sprint(s.MustDo("acl", "log")); strings.Count(log, "object hscan") != 1 || strings.Count(log, "object info") != 1 || strings.Count(log, "count 1 ") != 2 {
		t.Errorf("the ACL LOG: %s", log)
	}
	s.MustDo("acl", "setuser", "app", "+hscan", "+info", "+pttl")
	if _, err := store.Check(ctx); err != nil {
		t.Fatal(err)
	}
	if of, err := store.OpenOf(ctx, "k", 10); err != nil || len(of) != 1 {
		t.Errorf("with the right, after a check: %d reservations, %v", len(of), err)
	}
	s.MustDo("config", "set", "maxmemory", "1gb")
	if used, err := store.MemoryUsed(ctx); err != nil || used <= 0 || used >= 0.5 {
		t.Errorf("the used part of the memory: %v, %v", used, err)
	}
}
