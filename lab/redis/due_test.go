package redis

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// TestDueBehindUnreadable checks that overdue reservations end even if earlier open reservations are in a form that
// this version cannot read, or have not been ended by any caller.
func TestDueBehindUnreadable(t *testing.T) {
	t.Parallel()
	d := testbed.Standalone(t, testbed.Flavor(redistest.Redis))
	store := testbed.Adapters[0].Open(t, d, redisstore.Config{Prefix: "due"})
	ctx, client := context.Background(), d.Goredis()
	defer client.Close()
	for i := range 2 * engine.MaxDue {
		id := fmt.Sprintf("unreadable%d", i)
		client.HSet(ctx, "due/coordinator/open/{0}", id, "\x7fof a later version")
		client.ZAdd(ctx, "due/coordinator/due/{0}", redis.Z{Score: float64(i), Member: id})
	}
	op, results := engine.Single(engine.OpReserve, "k", rule.FixedWindow(rule.PerHour(10)), 4), make([]engine.Answer, 1)
	op.ID, op.Term = "id", &engine.Term{Within: time.Millisecond, Then: engine.ReleaseCharge}
	if store.Do(ctx, []engine.Op{op}, results); results[0].Err != nil || !results[0].Allowed {
		t.Fatalf("%+v", results[0])
	}
	for began := time.Now(); ; {
		due, err := store.Due(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(due) == 1 && due[0].ID == "id" {
			break
		}
		if time.Since(began) > 5*time.Second {
			t.Fatalf("%d reservations are due, without the one whose term has passed", len(due))
		}
	}
	if due, err := store.Due(ctx); err != nil || len(due) > 0 {
		t.Errorf("%d reservations, %v: it is returned again while its caller ends it", len(due), err)
	}
	if n := client.HLen(ctx, "due/coordinator/open/{0}").Val(); n != 2*engine.MaxDue+1 {
		t.Errorf("%d reservations are kept", n)
	}
}
