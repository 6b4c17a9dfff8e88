package testbed

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/redisstore"
)

// Hourly is a limit that does not refill during a test.
var Hourly = rule.TokenBucket(rule.PerHour(100))

// Take charges a key one unit and returns the result.
func Take(store engine.Store, key string, limit engine.Limit) engine.Answer {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	results := make([]engine.Answer, 1)
	store.Do(ctx, []engine.Op{{Space: "s", Key: key, Charges: []engine.Charge{{Limit: limit, Cost: 1}}}}, results)
	return results[0]
}

// WantClass checks the class of an operation's error.
func WantClass(t *testing.T, r engine.Answer, want redisstore.Class) {
	t.Helper()
	e, ok := errors.AsType[*redisstore.Error](r.Err)
	if !ok || e.Class != want || !errors.Is(r.Err, headgate.ErrStoreUnavailable) {
		t.Errorf("answered %+v, %v; want an error of class %s", r, r.Err, want)
	}
}

// Recovers waits until the store decides again, and checks that failed calls were not charged.
func Recovers(t *testing.T, store *redisstore.Store, remaining int64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if r := Take(store, "k", Hourly); r.Err == nil {
			if r.Binds().Remaining != remaining {
				t.Errorf("%d left, want %d: a call that failed was charged", r.Binds().Remaining, remaining)
			}
			return
		}
	}
	t.Error("the store did not work again")
}

// RecoversFrom waits until the store decides again, and checks that no call was charged twice. At most 100 calls may
// have been sent.
func RecoversFrom(t *testing.T, store *redisstore.Store) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if r := Take(store, "other", Hourly); r.Err == nil {
			return
		}
	}
	t.Error("the store did not work again")
}

// Together wraps a store in group commit with so few calls in flight that most operations share a call.
func Together(t testing.TB, store engine.Store) engine.Store {
	t.Helper()
	layer, err := batch.New(store, batch.Config{InFlight: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = layer.Close() })
	return layer
}

// StateKey returns the Redis key of a subject's token bucket in the namespace s, under the default prefix.
func StateKey(subject string) string { return "hg/:s/tb/{" + subject + "}" }
