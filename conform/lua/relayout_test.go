package lua

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/conform/programs"
	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/conform/testbed"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/redisstore"
)

// relaid lists limits whose states are moved, and one limit whose states are not.
var relaid = []engine.Limit{
	rule.TokenBucket(rule.PerDay(100)),
	rule.Pacer(rule.PerDay(100), rule.MaxQueue(100)),
	rule.FixedWindow(rule.PerDay(100)),
	rule.FixedWindow(rule.Per(100, 365*24*time.Hour), rule.Align("clock"), rule.Named("by/the{clock}")),
	rule.SlidingLog(rule.PerDay(100)),
	rule.TokenBucket(rule.Per(1<<32+1, 36525*24*time.Hour), rule.Named("large")),
	rule.FixedWindow(rule.PerDay(algo.MaxUnits), rule.Named("large")),
}

// relaidKey returns the pattern of a key. Some keys need escaping.
func relaidKey(i int) string { return []string{"user:%d", "{tag}%d", "a}%%7D%d", "/#%d"}[i%4] }

// relaidOps returns one operation for each key. It cycles through the limits.
func relaidOps(kind engine.Kind, keys int) (ops []engine.Op) {
	for i := range keys {
		key := fmt.Sprintf(relaidKey(i), i)
		limit, cost := relaid[i%len(relaid)], int64(i%9+1)
		if limit.Capacity() > 100 {
			cost <<= 28
		}
		ops = append(ops, engine.Op{Kind: kind, Space: "inline", Key: key, Charges: []engine.Charge{{Limit: limit, Cost: cost}}})
	}
	return ops
}

// remaining runs operations and returns the remaining units from each answer.
func remaining(t *testing.T, url string, ops []engine.Op) (all []int64) {
	t.Helper()
	store, err := rueidisadapter.Open(context.Background(), url, redisstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for part := range slices.Chunk(ops, engine.MaxOps) {
		results := make([]engine.Result, len(part))
		store.Do(context.Background(), part, results)
		for i := range results {
			if results[i].Err != nil {
				t.Fatal(results[i].Err)
			}
			all = append(all, results[i].Outcome.Remaining)
		}
	}
	return all
}

// TestRelayout checks that headgate relayout moves every state exactly once, even if it is killed repeatedly: to
// hashes, to other hashes and back. Until a move is complete, servers refuse to start.
func TestRelayout(t *testing.T) {
	t.Parallel()
	const keys = 20_000
	s := redistest.Standalone(t, redistest.Redis)
	url := "redis://" + s.Addr()
	remaining(t, url, relaidOps(engine.OpAllow, keys))
	want := remaining(t, url, relaidOps(engine.OpPeek, keys))
	for _, step := range []struct {
		to    string
		kills int
	}{{"hash:3", 2}, {"hash:5", 0}, {"keys", 1}} {
		for range step.kills {
			killedInside(t, s, url, step.to)
			if _, err := rueidisadapter.Open(context.Background(), url+"?layout="+step.to, redisstore.Config{}); err == nil || !strings.Contains(err.Error(), "headgate relayout --to "+step.to) {
				t.Fatalf("in the middle of a move: %v", err)
			}
		}
		out, err := relayoutCommand(t, url, step.to).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "states moved to "+step.to) {
			t.Fatalf("%v: %s", err, out)
		}
		sameLeft(t, step.to, remaining(t, url+"?layout="+step.to, relaidOps(engine.OpPeek, keys)), want)
	}
	if left, _ := s.MustDo("keys", "headgate/inline/*/#?").([]any); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestRelayoutOnACluster checks that on a Cluster with shards, states stay within their slots.
func TestRelayoutOnACluster(t *testing.T) {
	t.Parallel()
	const keys = 2000
	c := redistest.Cluster(t, redistest.Redis)
	url := testbed.OfCluster(c).URL + "?shards=8"
	remaining(t, url, relaidOps(engine.OpAllow, keys))
	want := remaining(t, url, relaidOps(engine.OpPeek, keys))
	for _, to := range []string{"hash:3", "hash:1", "keys"} {
		if out, err := relayoutCommand(t, url, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		sameLeft(t, to, remaining(t, url+"&layout="+to, relaidOps(engine.OpPeek, keys)), want)
	}
}

// sameLeft compares the remaining units before and after a move. Large buckets refill in the meantime.
func sameLeft(t *testing.T, to string, got, want []int64) {
	t.Helper()
	for i := range got {
		if more := got[i] - want[i]; more < 0 || more > want[i]/1_000_000 {
			t.Fatalf("key %d has %d units left after the move to %s, and had %d", i, got[i], to, want[i])
		}
	}
}

func relayoutCommand(t *testing.T, url, to string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(context.Background(), programs.Headgate(t), "relayout", "--store", url, "--to", to)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// killedInside starts a move, and kills it when the number of keys shows that some states have been moved.
func killedInside(t *testing.T, s *redistest.Server, url, to string) {
	t.Helper()
	size := func() int64 { n, _ := s.MustDo("dbsize").(int64); return n }
	c, before := relayoutCommand(t, url, to), size()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); size() == before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	_ = c.Process.Kill()
	if err := c.Wait(); err == nil {
		t.Fatal("the move ended before it was killed: it needs more states")
	}
}

// TestLayoutsAgree checks that stores with a different layout fail, both when they are opened and while they run.
func TestLayoutsAgree(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	url := "redis://" + s.Addr()
	for _, step := range []struct{ layout, accepts string }{
		{"", ""},
		{"?layout=keys", ""},
		{"?layout=hash:2", "keys, as headgate/shards says"},
		{"?layout=hash:2&prefix=h", ""},
		{"?layout=hash:3&prefix=h", "hash:2, as h/shards says"},
		{"?prefix=h", "hash:2"},
		{"?layout=hash:0&prefix=h", "keys, or hash:1"},
		{"?layout=hash:1025", "keys, or hash:1"},
		{"?layout=rows", "keys, or hash:1"},
		{"?layout=hash:2&shards=2&prefix=x", "on a Cluster with shards"},
	} {
		store, err := rueidisadapter.Open(context.Background(), url+step.layout, redisstore.Config{})
		bad, refused := errors.AsType[*engine.InputError](err)
		if refused != (step.accepts != "") || err != nil && !refused || refused && (bad.Field != "layout" || !strings.HasPrefix(bad.Accepted, step.accepts)) {
			t.Errorf("%q: %v", step.layout, err)
		}
		if err == nil {
			_ = store.Close()
		}
	}
}
