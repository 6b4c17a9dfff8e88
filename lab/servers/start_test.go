package servers

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/programs"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// If a server starts while Redis is dead or hangs, it immediately decides by its share. When Redis becomes available,
// the server decides with Redis.
func TestServerStartsWithoutStore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		begin, end func(*redistest.Server)
	}{
		{"dead", (*redistest.Server).Kill, (*redistest.Server).Start},
		{"hangs", (*redistest.Server).Pause, (*redistest.Server).Resume},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Standalone(t, redistest.Redis)
			c.begin(s)
			client := serve(t, "redis://"+s.Addr(), "--expect-processes", "2")
			comesTo(t, client, "[0 5 4]") // half of 10, once the share has refilled
			c.end(s)
			comesTo(t, client, "[0 10 9]")
		})
	}
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		nodes := redistest.Cluster(t, redistest.Redis)
		primaries := nodes.Primaries()
		for _, s := range primaries {
			s.Pause()
		}
		client := serve(t, "redis+cluster://"+strings.Join(nodes.Addrs(), ","), "--expect-processes", "2")
		comesTo(t, client, "[0 5 4]")
		for _, s := range primaries {
			s.Resume()
		}
		comesTo(t, client, "[0 10 9]")
	})
}

// throttle takes a unit from a new key with a burst of 10, and returns the first three integers of the reply.
func throttle(t *testing.T, client *redis.Client) string {
	t.Helper()
	key := fmt.Sprint("k", time.Now().UnixNano())
	words, err := client.Do(t.Context(), "cl.throttle", key, 9, 10, 1).Int64Slice()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(words[:3])
}

// comesTo calls throttle until it returns the wanted text. It fails the test if that takes too long.
func comesTo(t *testing.T, client *redis.Client, want string) {
	t.Helper()
	got := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if got = throttle(t, client); got == want {
			return
		}
	}
	t.Errorf("for a minute: %s, want %s", got, want)
}

// A server does not start with a store that answers but is unusable.
func TestServerRefusesStoreThatAnswers(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	s.MustDo("acl", "setuser", "app", "on", ">right", "~*", "&*", "+@all")
	for _, c := range []struct{ url, want string }{
		{"redis://app:wrong@" + s.Addr(), "WRONGPASS"},
		{"redis+sentinel://" + s.Addr() + "/mymaster", "unknown command"},
		{"redis+cluster://" + s.Addr(), "cluster support disabled"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := exec.CommandContext(ctx, programs.Headgate(t), "serve", "--store", c.url, "--resp", "127.0.0.1:0", "--http", "off").CombinedOutput()
		cancel()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, %q; want %q", c.url, err, out, c.want)
		}
	}
}

// A store with shards that was opened while its server was down first checks that the data has as many shards. If it
// does not, the store fails. It decides nothing before the check.
func TestLateStoreOfOtherShards(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis, "appendonly yes", "appendfsync always")
	if r := testbed.Take(testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{}), "k", testbed.Hourly); r.Err != nil {
		t.Fatal(r.Err)
	}
	s.Kill()
	store, err := rueidisadapter.OpenLate(t.Context(), "redis://"+s.Addr()+"?shards=2", redisstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	ask := func() engine.Answer {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		results := make([]engine.Answer, 1)
		store.Do(ctx, []engine.Op{engine.Single(engine.OpAllow, "k", rule.TokenBucket(rule.PerDay(10)), 1)}, results)
		return results[0]
	}
	if r := ask(); r.Err == nil {
		t.Fatalf("without a server: %+v", r)
	}
	s.Start()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		r := ask()
		if r.Err == nil {
			t.Fatalf("the data has no shards: %+v", r)
		}
		if strings.Contains(r.Err.Error(), "accepted: 0, as hg/shards says") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("want an error that names the marker: %v", r.Err)
		}
	}
}
