package servers

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// Regression: bug 42. Keys from a RESP connection are slices of its read buffer. One connection uses 20 000 keys for
// the first time. No key is denied because of denials that --max-stale has cached for other keys.
func TestBorrowedOverRESP(t *testing.T) {
	t.Parallel()
	d := testbed.Guard(t, testbed.Standalone(t, redistest.Redis))
	d.User.Permit(t, redisstore.DefaultPrefix)
	ctx := context.Background()
	here := serve(t, d.User.In(d.URL), "--max-stale", "1h").Conn()
	defer here.Close()
	other := serve(t, d.User.In(d.URL)).Conn()
	defer other.Close()
	// The function ask charges a key's only unit, which refills in two seconds. It returns 0 if the request passed.
	type asked interface {
		Do(ctx context.Context, args ...any) *redis.Cmd
	}
	ask := func(by asked, key string) int64 {
		t.Helper()
		reply, err := by.Do(ctx, "CL.THROTTLE", key, 0, 1, 2, 1).Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		return reply[0]
	}
	const hot, fresh = 600, 20_000
	key := func(n int) string { return fmt.Sprintf("hot-%06d", n) }
	for n := range hot {
		ask(here, key(n))
		ask(here, key(n)) // the denial is cached
	}
	time.Sleep(2 * time.Second)
	began := time.Now()
	for n := range hot {
		ask(other, key(n))
	}
	for n := range hot {
		if ask(here, key(n)) != 0 { // denied again, and cached again
			continue
		}
		if took := time.Since(began); took < 2*time.Second {
			t.Fatalf("%s passed on both servers within %s", key(n), took)
		}
		ask(here, key(n)) // on a busy machine, the unit may have refilled
	}
	denied := 0
	for n := range fresh {
		if ask(here, fmt.Sprintf("key-%06d", n)) != 0 {
			denied++
		}
	}
	if denied > 0 {
		t.Errorf("%d of %d keys were denied although no request had named them before", denied, fresh)
	}
}
